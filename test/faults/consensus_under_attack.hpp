// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "network.hpp"
#include "store_under_attack.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenure::faults
{

/** The faults of a store that rests on a majority of three members, each reached through three proxies: members stop,
 *  die and start again, alone, with the leader, as a majority or all of them, and the ways to one are disturbed. */
class ConsensusUnderAttack : public StoreUnderAttack
{
public:
    /** A new leader starts all leases anew. */
    [[nodiscard]] std::int64_t expiry_delay(std::int64_t now) const override;

protected:
    /** @param member  the word for one of them in the names of faults: "member", "server" */
    ConsensusUnderAttack(Arena const& arena, std::string member);

    /** To be called for each member, in their order, before anything else. */
    void add_member(std::uint16_t port);
    [[nodiscard]] Arena const& arena() const noexcept { return arena_; }
    /** The members as a URL lists them, by the worker's own proxies. */
    [[nodiscard]] std::string hosts(std::size_t worker) const;

    /** The disturbances that fit any such store. */
    [[nodiscard]] std::vector<Disturbance> common_disturbances();
    /** From now on there may be an election. */
    void expect_election() noexcept;
    /** Until one leads again, and renewals have come through. */
    void recover(Attack& attack);

    /** Which member leads; waits until one does. */
    [[nodiscard]] virtual std::size_t leader() = 0;
    virtual void pause(std::size_t member) = 0;
    virtual void resume(std::size_t member) = 0;
    virtual void kill(std::size_t member) = 0;
    /** Need not wait until it serves. */
    virtual void start(std::size_t member) = 0;
    /** Until all members work together. @throws std::runtime_error if they do not for a long time */
    virtual void await_whole(Attack& attack) = 0;

private:
    enum class Whom { leader, follower, majority, all };

    [[nodiscard]] std::vector<std::size_t> choose(Random& random, Whom whom);
    [[nodiscard]] Disturbance stopping(std::string const& whose, unsigned often, Whom whom, bool briefly);
    [[nodiscard]] Disturbance restarting(std::string const& whose, unsigned often, Whom whom);
    [[nodiscard]] Disturbance on_network(std::size_t kind);

    Arena arena_;
    std::string member_;
    std::vector<std::unique_ptr<Network>> networks_;
    /// when there may have been an election last, in ns of CLOCK_BOOTTIME; 0: never
    std::atomic<std::int64_t> election_ = 0;
};

} // namespace tenure::faults
