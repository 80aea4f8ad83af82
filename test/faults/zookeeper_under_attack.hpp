// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "consensus_under_attack.hpp"

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

/** An ensemble of three ZooKeeper servers. Faults of a follower must cost no lease, and no fault
 * may let two hold a key: the store forgets nothing. That a session ends with a tick, up to one later than its
 * timeout, is within what every store is given on top of G. */
class ZookeeperUnderAttack final : public ConsensusUnderAttack
{
public:
    explicit ZookeeperUnderAttack(Arena const& arena);

    [[nodiscard]] std::string url(std::size_t worker) const override;
    [[nodiscard]] std::vector<Disturbance> disturbances() override;
    [[nodiscard]] std::optional<std::vector<KeyLook>> look() override;
    [[nodiscard]] std::vector<std::string> endless_keys() override;

private:
    /// written before each look: a write takes a majority
    static constexpr char const* looks_mark = "/looks";

    /** The acts of a stranger on the node of a lease. */
    enum class Deed {
        remove,
        /// in one step his own node stands in its place
        replace,
        /// the node and its session stay, the value is his
        overwrite
    };

    [[nodiscard]] std::size_t leader() override;
    void pause(std::size_t member) override { ensemble_.server(member).pause(); }
    void resume(std::size_t member) override { ensemble_.server(member).resume(); }
    void kill(std::size_t member) override { ensemble_.server(member).kill(); }
    void start(std::size_t member) override { ensemble_.server(member).start(); }
    void await_whole(Attack& attack) override;
    [[nodiscard]] bool whole() const;

    // the acts of strangers (zookeeper_strangers.cpp)
    [[nodiscard]] std::uint16_t some_port(Random& random);
    bool rob(Attack& attack, std::string const& name, Deed deed);
    /** After it was replaced: what is not the holder's must stay. */
    void expect_kept(Attack& attack, test::ZookeeperClient& person, test::Holding const& victim);
    /** After it was overwritten: it goes when the holder's time is over. */
    void expect_gone(Attack& attack, test::ZookeeperClient& person, test::Holding const& victim);
    bool close_session(Attack& attack);

    test::ZookeeperEnsemble ensemble_;
    /// of all cells
    std::vector<std::string> paths_;
    // of look() alone: who looks, where, and the server that answered last
    std::optional<test::ZookeeperClient> looker_;
    std::size_t asked_ = 0;
};

} // namespace tenure::faults
