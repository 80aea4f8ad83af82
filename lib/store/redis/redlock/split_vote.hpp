// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tenure::redlock
{

class Claims;

/** What a granted lease lacks on the nodes that others held for a moment.
 *
 *  A lease on a bare majority is lost with one server more. Those whose votes were split give back at once what they
 *  took, and then the rest can be had: the grant waits for that, but not for long. What is still missing later a
 * renewal brings. Held by `Claims` and by the questions that nodes have not answered, never by its timer. */
class SplitVote : public std::enable_shared_from_this<SplitVote>
{
public:
    /** @param claim    of the one key that was granted, until the store lets go of it unless it is renewed
     *  @param token    0: fencing was not asked for
     *  @param missing  the nodes on which others hold it
     *  @param over     called once, on the strand, when nothing is missing any more or nothing more is tried; not when
     * it was stopped */
    SplitVote(
        QuorumPtr quorum, std::weak_ptr<Claims> claims, ClaimRequest claim, std::uint64_t token,
        std::vector<std::size_t> missing, std::function<void()> over);

    void start() { wait(); }

    /** Another node on which others hold it, as was told late. */
    void add(std::size_t node);

    /** The lease is being released, or the store is closed: takes nothing more, and waits for nothing. */
    void stop() noexcept;

    [[nodiscard]] std::string const& owner() const noexcept { return claim_.owner; }

private:
    void wait();
    void ask();
    void answered(std::size_t node, ClaimReply const& reply);
    void leave();
    void tell();

    QuorumPtr quorum_;
    /// where it is registered; empty: it has left
    std::weak_ptr<Claims> claims_;
    ClaimRequest claim_;
    std::uint64_t token_;
    std::vector<std::size_t> missing_;
    /// null once called
    std::function<void()> over_;
    /// how often they were asked again
    unsigned times_ = 0;
    /// until the next time; 0: not waiting for it
    Runtime::TimerId timer_ = 0;
    /// what was asked and not answered yet
    std::size_t unanswered_ = 0;
    bool stopped_ = false;
};

} // namespace tenure::redlock
