// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::engine
{

/** One timer for many things that are nearly always over before anybody has to look at them.
 *
 *  A timer for each of them costs more than most of what the engine does for an answered request. So each only tells by
 * when it wants to be looked at; when the first of these instants has come, those that are still there get timers of
 * their own. What is over by then needs no cancelling. A member of its owner, which has a function `give_timers()` for
 * that. Everything runs on the strand.
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

    /** All that share it get their timers by `when`; maybe earlier. */
    void ring_by(Instant when)
    {
        if (when < rings_at_)
            set(when);
    }

    /** Nothing shares it any more. */
    void stop() noexcept
    {
        runtime_.cancel(std::exchange(timer_, 0));
        rings_at_ = Instant::max();
    }

private:
    /// What was waited for may be over long before: a timer that is set for nothing any more keeps the loop running.
    static constexpr std::chrono::milliseconds longest_sleep{250};
    /// after a ring that failed
    static constexpr std::chrono::milliseconds pause{10};

    void set(Instant when)
    {
        stop();
        auto const rings_at = std::min<Instant>(when, runtime_.now() + longest_sleep);
        timer_ = runtime_.call_at(rings_at, [this, weak = owner_.weak_from_this()] {
            if (auto const owner = weak.lock())
                ring();
        });
        rings_at_ = rings_at;
    }

    void ring()
    {
        timer_ = 0;
        rings_at_ = Instant::max();
        try {
            owner_.give_timers();
        } catch (...) {
            // out of memory: those that got none still share this one
            set(runtime_.now() + pause);
            throw;
        }
    }

    Owner& owner_;
    Runtime& runtime_;
    Instant rings_at_ = Instant::max();
    Runtime::TimerId timer_ = 0;
};

} // namespace tenure::engine
