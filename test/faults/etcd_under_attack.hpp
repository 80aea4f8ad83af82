// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "network.hpp"
#include "store_under_attack.hpp"

#include "harness/etcd_server.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** A cluster of three etcds, each reached through three proxies. What is done to one that does not lead must cost no
 * lease, and nothing that is done may let two hold a key: the store forgets nothing. */
class EtcdUnderAttack final : public StoreUnderAttack
{
public:
    explicit EtcdUnderAttack(Arena const& arena);

    [[nodiscard]] std::string url(std::size_t worker) const override;
    [[nodiscard]] std::vector<Disturbance> disturbances() override;
    [[nodiscard]] std::optional<std::vector<KeyLook>> look() override;
    /** A new leader starts all leases anew. */
    [[nodiscard]] std::int64_t expiry_delay(std::int64_t now) const override;
    [[nodiscard]] std::vector<std::string> endless_keys() override;

private:
    enum class Whom { leader, follower, majority, all };

    [[nodiscard]] std::vector<test::EtcdServer*> choose(Random& random, Whom whom);
    void recover(Attack& attack);
    bool stop(Attack& attack, std::string const& name, Whom whom, bool briefly);
    bool restart(Attack& attack, std::string const& name, Whom whom);
    bool move_leader(Attack& attack);
    bool compact(Attack& attack);
    bool rob(Attack& attack, bool only_delete);
    [[nodiscard]] Disturbance on_network(std::size_t kind);
    /** From the first member that answers. */
    [[nodiscard]] std::string ask(std::string const& path, std::string const& body);
    [[nodiscard]] std::optional<std::int64_t> expiry_of(std::int64_t lease);

    Arena arena_;
    test::EtcdCluster cluster_{3};
    std::vector<std::unique_ptr<Network>> networks_;
    /// the member that answered last
    std::size_t asked_ = 0;
    /// which cell's expiry is looked at next
    std::uint32_t looked_at_ = 0;
    /// when there may have been an election last, in ns of CLOCK_BOOTTIME; 0: never
    std::atomic<std::int64_t> election_ = 0;
};

} // namespace tenure::faults
