// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <algorithm>
#include <deque>
#include <optional>

namespace tenure::zookeeper
{

/** Computes a safe start of a session's timeout at the leader, because only the leader expires sessions.
 *
 *  A server reports its sessions to the leader only in its next answer to the leader's pings, half a tick later; and a
 *  server that was cut off from the leader answers pings and reads until it notices. An answered write went through the
 *  leader and a majority. So a write proves the requests that were written and answered a whole tick before it, but not
 *  itself. Pure: no I/O, no clock. */
class SessionLife
{
public:
    explicit SessionLife(Clock::duration tick) noexcept
        : tick_(tick)
    {
    }

    /** A new session was granted, which takes a majority.
     *  @param asked  before the request was sent */
    void created(Instant asked)
    {
        disconnected();
        proven_ = asked;
    }

    /** The session is connected again. The server asked the leader, which may not have been the leader by then: the
     *  first answered write on this connection proves it.
     *  @param asked  before the request was sent */
    void reopened(Instant asked) noexcept { reopened_ = asked; }

    /** The connection is lost: requests to its server may never have reached the leader. */
    void disconnected() noexcept
    {
        recent_.clear();
        reopened_.reset();
    }

    /** A write was answered, with success or not.
     *  @param sent  before it was sent
     *  @param answered  afterwards */
    void wrote(Instant sent, Instant answered)
    {
        if (reopened_ && sent >= *reopened_) {
            proven_ = std::max(proven_, *reopened_);
            reopened_.reset();
        }
        while (!recent_.empty() && recent_.front().answered + tick_ <= sent) {
            proven_ = std::max(proven_, recent_.front().sent);
            recent_.pop_front();
        }
        // many claims in a moment prove no more than one
        if (recent_.empty() || sent - recent_.back().sent >= tick_ / 16)
            recent_.push_back({sent, answered});
    }

    /** The session lives at least until its timeout after this instant. */
    [[nodiscard]] Instant proven() const noexcept { return proven_; }

private:
    struct Write {
        Instant sent;
        Instant answered;
    };

    Clock::duration tick_;
    Instant proven_ = Instant::min();
    /// time of the current connection, while no write on it was answered
    std::optional<Instant> reopened_;
    /// answered writes that are too recent to be proven
    std::deque<Write> recent_;
};

} // namespace tenure::zookeeper
