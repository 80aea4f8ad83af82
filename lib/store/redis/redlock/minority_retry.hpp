// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"
#include "runtime/names.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tenure::redlock
{

/** Retries a granted lease on the nodes that other claims held briefly.
 *
 *  A lease on a bare majority does not survive the loss of one more server. After a split vote the losers give back
 *  their grants at once, so the rest can be claimed; the grant waits briefly for that. Later renewals bring what is
 *  still missing. Owned by its claim and by unanswered requests, never by its timer. */
class MinorityRetry : public std::enable_shared_from_this<MinorityRetry>
{
public:
    /** @param claim  of the one granted key, until the store frees it unless it is renewed
     *  @param token  0: without fencing
     *  @param done   called on the strand, never inside another call, when no node is missing or the retries have
     *  ended; not after `stop` */
    MinorityRetry(QuorumPtr quorum, ClaimRequest claim, std::uint64_t token, std::function<void()> done);

    /** Adds nodes on which other claims hold the key; they are retried soon. */
    void add(std::vector<std::size_t> const& nodes);

    /** The lease is being released, or the store is closed: ends all retries and waits. */
    void stop() noexcept;

    /** True if no retry is left, or `stop` was called. */
    [[nodiscard]] bool over() const noexcept { return stopped_ || (!again_.pending() && unanswered_ == 0); }

private:
    void wait();
    void ask();
    void answered(std::size_t node, ClaimReply const& reply);
    void notify_if_done();

    QuorumPtr quorum_;
    ClaimRequest claim_;
    std::uint64_t token_;
    std::function<void()> done_;
    std::vector<std::size_t> missing_;
    /// number of retries so far
    unsigned times_ = 0;
    /// until the next retry
    Timer again_;
    /// unanswered requests
    std::size_t unanswered_ = 0;
    bool stopped_ = false;
};

} // namespace tenure::redlock
