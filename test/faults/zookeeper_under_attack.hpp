// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "network.hpp"
#include "store_under_attack.hpp"

#include "harness/auditor.hpp"
#include "harness/zookeeper_client.hpp"
#include "harness/zookeeper_server.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

/** An ensemble of three ZooKeeper servers, each reached through three proxies. What is done to one that does not lead
 * must cost no lease, and nothing that is done may let two hold a key: the store forgets nothing. */
class ZookeeperUnderAttack final : public StoreUnderAttack
{
public:
    explicit ZookeeperUnderAttack(Arena const& arena);

    [[nodiscard]] std::string url(std::size_t worker) const override;
    [[nodiscard]] std::vector<Disturbance> disturbances() override;
    [[nodiscard]] std::optional<std::vector<KeyLook>> look() override;
    /** A new leader starts all sessions anew. That a session ends with a tick, up to one later than its timeout, is
     * within what every store is given on top of G. */
    [[nodiscard]] std::int64_t expiry_delay(std::int64_t now) const override;
    [[nodiscard]] std::vector<std::string> endless_keys() override;

private:
    /// written before each look: a write takes a majority
    static constexpr char const* looks_mark = "/looks";

    enum class Whom { leader, follower, majority, all };
    /** What a stranger does to the node of a lease. */
    enum class Deed {
        remove,
        /// in one step his own node stands in its place
        replace,
        /// the node and its session stay, the value is his
        overwrite
    };

    // what is done to servers
    [[nodiscard]] bool whole() const;
    [[nodiscard]] std::vector<test::ZookeeperServer*> choose(Random& random, Whom whom);
    void recover(Attack& attack);
    bool stop(Attack& attack, std::string const& name, Whom whom, bool briefly);
    bool restart(Attack& attack, std::string const& name, Whom whom);
    [[nodiscard]] Disturbance on_network(std::size_t kind);

    // what strangers do (zookeeper_strangers.cpp)
    [[nodiscard]] std::uint16_t some_port(Random& random);
    bool rob(Attack& attack, std::string const& name, Deed deed);
    /** After it was replaced: what is not the holder's must stay. */
    void expect_kept(Attack& attack, test::ZookeeperClient& person, test::Holding const& victim);
    /** After it was overwritten: it goes when the holder's time is over. */
    void expect_gone(Attack& attack, test::ZookeeperClient& person, test::Holding const& victim);
    bool close_session(Attack& attack);

    Arena arena_;
    test::ZookeeperEnsemble ensemble_;
    std::vector<std::unique_ptr<Network>> networks_;
    /// of all cells
    std::vector<std::string> paths_;
    // of look() alone: who looks, where, and the server that answered last
    std::optional<test::ZookeeperClient> looker_;
    std::size_t asked_ = 0;
    /// when there may have been an election last, in ns of CLOCK_BOOTTIME; 0: never
    std::atomic<std::int64_t> election_ = 0;
};

} // namespace tenure::faults
