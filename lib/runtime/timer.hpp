// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/runtime.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace tenure
{

/** One timer of a runtime, cancelled with this object.
 *
 *  A member of the object that it calls. The runtime outlives it: the owner declares the pointer to the runtime before
 *  its timers. Everything runs on the strand. */
class Timer
{
public:
    explicit Timer(Runtime& runtime) noexcept
        : runtime_(&runtime)
    {
    }
    Timer(Timer const&) = delete;
    Timer& operator=(Timer const&) = delete;
    ~Timer() { cancel(); }

    /** Calls `(owner.*run)()`, or `run(owner)`, at `when`, if the owner still exists. Replaces an earlier setting.
     *  `owner` keeps this timer alive, because it is a member. */
    template <class Owner, class Run>
    void at(Instant when, std::weak_ptr<Owner> owner, Run run)
    {
        cancel();
        id_ = runtime_->call_at(when, [this, owner = std::move(owner), run = std::move(run)]() mutable {
            if (auto const self = owner.lock()) {
                id_ = 0;
                // a copy, because the call may set or destroy this timer
                auto const call = std::move(run);
                std::invoke(call, *self);
            }
        });
        due_ = when;
    }

    /** As `at`, but an earlier setting stays. `max` sets nothing. */
    template <class Owner, class Run>
    void by(Instant when, std::weak_ptr<Owner> owner, Run run)
    {
        if (!suffices(when))
            at(when, std::move(owner), std::move(run));
    }

    /** As `at`, `delay` from now. */
    template <class Owner, class Run>
    void after(Clock::duration delay, std::weak_ptr<Owner> owner, Run run)
    {
        at(runtime_->now() + delay, std::move(owner), std::move(run));
    }

    void cancel() noexcept
    {
        if (id_ != 0)
            runtime_->cancel(std::exchange(id_, 0));
    }

    /** For owners that are destroyed outside of the strand: the runtime keeps the timer, which then calls nothing. */
    void forget() noexcept { id_ = 0; }

    [[nodiscard]] bool pending() const noexcept { return id_ != 0; }
    /** True if `by` would change nothing. */
    [[nodiscard]] bool suffices(Instant when) const noexcept { return when >= (pending() ? due_ : Instant::max()); }

    /** The time of the last setting, also after the call. */
    [[nodiscard]] Instant due() const noexcept { return due_; }

private:
    Runtime* runtime_;
    Runtime::TimerId id_ = 0;
    /// see `due`
    Instant due_{};
};

} // namespace tenure
