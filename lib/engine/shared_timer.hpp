// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace tenure::engine
{

/** One timer for many things that are nearly always over before anybody has to look at them.
 *
 *  A timer for each of them costs more than most of what the engine does for an answered request. So each tells by when
 * it wants to be looked at, and when the first of these instants has come all are looked at. What is over by then needs
 * no cancelling. A member of its owner, whose `Instant look(Instant now)` looks at what is due and returns when the
 * next is (Instant::max(): never). Everything runs on the strand.
 */
template <class Owner>
class SharedTimer
{
public:
    SharedTimer(Owner& owner, Runtime& runtime) noexcept
        : owner_(owner)
        , runtime_(runtime)
    {
    }
    SharedTimer(SharedTimer const&) = delete;
    SharedTimer& operator=(SharedTimer const&) = delete;
    ~SharedTimer() = default;

    /** All are looked at by `when`; maybe earlier. */
    void look_by(Instant when)
    {
        if (when < rings_at_)
            set(when, runtime_.now());
    }

    /** Nothing is left to look at. */
    void stop() noexcept
    {
        runtime_.cancel(std::exchange(timer_, 0));
        rings_at_ = Instant::max();
    }

private:
    /// What was waited for may be over long before: a timer that is set for nothing any more keeps the loop running.
    static constexpr std::chrono::milliseconds longest_sleep{250};

    void set(Instant when, Instant now)
    {
        runtime_.cancel(timer_);
        rings_at_ = std::min<Instant>(when, now + longest_sleep);
        timer_ = runtime_.call_at(rings_at_, [this, weak = owner_.weak_from_this()] {
            if (auto const owner = weak.lock())
                ring();
        });
    }

    void ring()
    {
        timer_ = 0;
        rings_at_ = Instant::max();
        auto const now = runtime_.now();
        auto const next = owner_.look(now);
        if (next < rings_at_)
            set(next, now);
    }

    Owner& owner_;
    Runtime& runtime_;
    Instant rings_at_ = Instant::max();
    Runtime::TimerId timer_ = 0;
};

/** How long after a look at so many the next one may come at the earliest: they take at most some percent of the time.
 */
[[nodiscard]] constexpr Clock::duration pause_after(std::size_t looked_at) noexcept
{
    return std::chrono::microseconds(looked_at);
}

} // namespace tenure::engine
