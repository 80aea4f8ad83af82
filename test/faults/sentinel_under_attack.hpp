// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "network.hpp"
#include "store_under_attack.hpp"

#include "harness/redis_client.hpp"
#include "harness/sentinel_group.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** A master with two replicas and three sentinels, none of them with persistence. Workers reach the sentinels through
 *  proxies, and the servers at the addresses that the sentinels name. */
class SentinelUnderAttack final : public StoreUnderAttack
{
public:
    explicit SentinelUnderAttack(Arena const& arena);

    [[nodiscard]] std::string url(std::size_t worker) const override;
    [[nodiscard]] std::vector<Disturbance> disturbances() override;
    [[nodiscard]] std::optional<std::vector<KeyLook>> look() override;
    [[nodiscard]] std::int64_t expiry_delay(std::int64_t) const override { return 0; }
    [[nodiscard]] std::vector<std::string> endless_keys() override;

private:
    /** How the master is lost. */
    enum class Way { kill, stop, ask };
    bool fail_over(Attack& attack, Way way, std::string const& name);
    bool stop_master_briefly(Attack& attack);
    bool lose_replica(Attack& attack, bool kill);
    bool lose_sentinel(Attack& attack, bool kill);
    bool lose_all_sentinels(Attack& attack);
    [[nodiscard]] Disturbance at_once(std::string const& name, std::vector<std::string> command);

    /** A failover can begin; false: not within some seconds. Time goes on meanwhile. */
    [[nodiscard]] bool wait_until_whole(Attack& attack);
    /** All sentinels name the same server, which is not `except`; null if they do not within 30 s. */
    [[nodiscard]] test::RedisServer* wait_for_master(Attack& attack, test::RedisServer const* except);
    void wait_until_replica(Attack& attack, test::RedisServer const& server);
    [[nodiscard]] test::RedisServer& master() { return group_.server(master_); }
    [[nodiscard]] test::RedisServer& some_replica(Random& random);

    Arena arena_;
    test::SentinelGroup group_;
    /// one for each sentinel
    std::vector<std::unique_ptr<Network>> networks_;
    /// number of the server that is the master
    std::atomic<std::size_t> master_ = 0;
    /// the master is unknown at the moment
    std::atomic<bool> in_doubt_ = false;
    /// of `look`; unset while there is no connection
    std::optional<test::RedisClient> looking_;
    /// where to that is
    std::size_t looking_at_ = 0;
};

} // namespace tenure::faults
