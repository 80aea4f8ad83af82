// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store_under_attack.hpp"

#include "harness/redis_client.hpp"
#include "harness/redis_cluster.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** A cluster of three masters and three replicas, none of them with persistence. The keys of the arena lie in hash
 * slots of their own, so that most faults affect only some of them, and leases on other keys must not be affected. */
class ClusterUnderAttack final : public StoreUnderAttack
{
public:
    explicit ClusterUnderAttack(Arena const& arena);

    [[nodiscard]] std::string url(std::size_t) const override { return cluster_.url(); }
    [[nodiscard]] std::vector<Disturbance> disturbances() override;
    [[nodiscard]] std::optional<std::vector<KeyLook>> look() override;
    [[nodiscard]] std::int64_t expiry_delay(std::int64_t) const override { return 0; }
    [[nodiscard]] std::vector<std::string> endless_keys() override;

private:
    /** How a master is lost. */
    enum class Loss { kill, stop, ask };
    bool fail_over(Attack& attack, Loss loss, std::string const& name);
    bool stop_briefly(Attack& attack);
    bool lose_replica(Attack& attack, bool kill);
    bool move_slot(Attack& attack);
    bool forget_all(Attack& attack);
    [[nodiscard]] Disturbance at_once(std::string const& name, std::vector<std::string> command);

    /** Every node is there; false: not within some seconds. Time goes on meanwhile. */
    [[nodiscard]] bool wait_until_whole(Attack& attack);
    /** Sees who serves which key now. */
    void survey();
    /** The masters of the keys are unknown until the next survey. */
    void doubt();
    [[nodiscard]] std::size_t server_of(std::uint32_t cell) const;
    [[nodiscard]] std::vector<std::uint32_t> cells_of(std::size_t node) const;
    [[nodiscard]] std::uint32_t some_cell(Random& random) const;
    [[nodiscard]] std::optional<std::size_t> replica_of(std::size_t node);

    Arena arena_;
    test::RedisCluster cluster_;
    mutable std::mutex mutex_;
    /// for each cell the node that serves its key; empty: in doubt. Under the mutex
    std::vector<std::size_t> servers_;
    /// of `look`, by node
    std::map<std::size_t, test::RedisClient> looking_;
};

} // namespace tenure::faults
