// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

namespace tenure::backend
{

/** What the owner of a request and the store report to each other while the request is pending. */
struct RequestMark {
    /// the owner has given up, or its lease is over (set from any thread, once): nothing more may be written for it
    std::atomic<bool> ended{false};
    /// when the store last wrote a step of the request, or got the answer to one; the clock's origin: nothing was
    /// written yet. Belongs to the strand
    Instant progressed{};
};

/** How long a request may wait to be written: until an instant, or until its owner gives up.
 *
 *  A request that still waits for a connection at its deadline is dropped and answered `Failure::dropped`. A written
 *  request is never dropped.
 */
class Deadline
{
public:
    /// shared by the owner of a request and the store
    using Mark = std::shared_ptr<RequestMark>;

    Deadline() noexcept = default;
    /** The request waits until `at`, and its owner cannot abandon it. */
    Deadline(Instant at) noexcept // NOLINT(google-explicit-constructor): an instant is the usual deadline
        : at_(at)
    {
    }
    /** @param mark  `ended` is set once the owner of the request has given up; `Backend::drop_abandoned` is called
     *  then */
    Deadline(Instant at, Mark mark) noexcept
        : at_(at)
        , mark_(std::move(mark))
    {
    }

    /** Also ends when an attempt to connect fails, for requests that no lease depends on; or, with false, allows any
     * number of attempts. */
    [[nodiscard]] Deadline with_one_attempt(bool one = true) const
    {
        auto copy = *this;
        copy.one_attempt_ = one;
        return copy;
    }
    /** The same deadline, but not after `limit`. */
    [[nodiscard]] Deadline no_later_than(Instant limit) const
    {
        auto copy = *this;
        copy.at_ = std::min(at_, limit);
        return copy;
    }

    /** The latest instant at which the request may be written. */
    [[nodiscard]] Instant at() const noexcept { return at_; }
    /** True once the owner has given up. */
    [[nodiscard]] bool abandoned() const noexcept
    {
        return mark_ != nullptr && mark_->ended.load(std::memory_order_acquire);
    }
    /** True if the request must not be written any longer. */
    [[nodiscard]] bool over(Instant now) const noexcept { return now >= at_ || abandoned(); }
    /** True if the first failed attempt to connect ends the request. */
    [[nodiscard]] bool one_attempt() const noexcept { return one_attempt_; }

    /** Reports that a step of the request was written, or that the answer to one has arrived. The store calls it on the
     * strand: the owner repeats a claim only if a written step stays unanswered, and never while it waits for its turn.
     */
    void progressed(Instant now) const noexcept
    {
        if (mark_ != nullptr)
            mark_->progressed = now;
    }

private:
    Instant at_{};
    Mark mark_;
    bool one_attempt_ = false;
};

} // namespace tenure::backend
