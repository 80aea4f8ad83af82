// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tenure::redlock
{

/** What a granted lease lacks on the nodes that others held for a moment.
 *
 *  A lease on a bare majority is lost with one server more. Those whose votes were split give back at once what they
 *  took, and then the rest can be had: the grant waits for that, but not for long. What is still missing later a
 * renewal brings. Held by its claim and by the questions that nodes have not answered, never by its timer. */
class MinorityRetry : public std::enable_shared_from_this<MinorityRetry>
{
public:
    /** @param claim  of the one key that was granted, until the store lets go of it unless it is renewed
     *  @param token  0: fencing was not asked for
     *  @param done   called on the strand, never inside another call, when no node is missing, and when nothing more is
     * tried; not after `stop` */
    MinorityRetry(QuorumPtr quorum, ClaimRequest claim, std::uint64_t token, std::function<void()> done);

    /** Nodes on which others hold it: they are asked again in a moment. */
    void add(std::vector<std::size_t> const& nodes);

    /** The lease is being released, or the store is closed: takes nothing more, and waits for nothing. */
    void stop() noexcept;

    /** Nothing more is tried, or all is being stopped. */
    [[nodiscard]] bool over() const noexcept { return stopped_ || (!again_.pending() && unanswered_ == 0); }

private:
    void wait();
    void ask();
    void answered(std::size_t node, ClaimReply const& reply);
    void tell_if_done();

    QuorumPtr quorum_;
    ClaimRequest claim_;
    std::uint64_t token_;
    std::function<void()> done_;
    std::vector<std::size_t> missing_;
    /// how often they were asked again
    unsigned times_ = 0;
    /// until the next time
    Timer again_;
    /// what was asked and not answered yet
    std::size_t unanswered_ = 0;
    bool stopped_ = false;
};

} // namespace tenure::redlock
