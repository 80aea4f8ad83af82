// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// TokenState: cancels a token, and notifies its waiters.
#include "token_state.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/post.hpp>

#include <utility>

namespace tenure::engine
{

TokenState::TokenState(std::shared_ptr<Runtime> runtime, Instant fires_at, CancelReason because)
    : runtime_(std::move(runtime))
    , fires_at_(fires_at.time_since_epoch().count())
    , because_(because)
{
}

bool TokenState::set_fires_at(Instant instant, CancelReason because)
{
    // only this function writes it, so without a change it needs no mutex
    if (instant == fires_at() && because == because_)
        return reason() == CancelReason::none;
    std::lock_guard const lock(mutex_);
    if (reason() != CancelReason::none)
        return false;
    fires_at_.store(instant.time_since_epoch().count(), std::memory_order_release);
    because_ = because;
    return true;
}

bool TokenState::cancel(CancelReason reason)
{
    std::unique_lock lock(mutex_);
    if (reason_.load(std::memory_order_relaxed) != CancelReason::none)
        return false;
    cancel_locked(lock, reason);
    return true;
}

void TokenState::cancel_locked(std::unique_lock<std::mutex>& lock, CancelReason reason)
{
    reason_.store(reason, std::memory_order_release);
    auto waiting = waiters_.take_all();
    auto const dependent = extras_ ? extras_->dependent.lock() : nullptr;
    if (extras_ && extras_->stop_source) {
        // The callbacks are user code: they run neither on the reading or releasing thread, nor on the strand.
        auto const held = hold_forks();
        asio::post(runtime_->user_executor(), [source = *extras_->stop_source]() mutable { source.request_stop(); });
    }
    lock.unlock();
    if (!waiting.empty())
        Waiters::post_all(std::move(waiting), {});
    if (dependent)
        (void)dependent->cancelled();
}

bool TokenState::cancelled() const noexcept
{
    if (reason() != CancelReason::none)
        return true;
    auto const now = runtime_->now();
    if (now < fires_at())
        return false;
    // a child of fork notifies nothing, and a thread that does not exist in the child may own the mutex
    if (forked())
        return true;
    // The timer is late. The mutex decides whether a renewal came first, or never counts.
    std::unique_lock lock(mutex_);
    if (reason() == CancelReason::none && now >= fires_at()) {
        cancel_late(lock, because_);
        return true;
    }
    return reason() != CancelReason::none;
}

void TokenState::cancel_late(CancelReason reason) const noexcept
{
    std::unique_lock lock(mutex_);
    if (this->reason() == CancelReason::none)
        cancel_late(lock, reason);
}

void TokenState::cancel_late(std::unique_lock<std::mutex>& lock, CancelReason reason) const noexcept
{
    try {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): logically const, the clock did it
        const_cast<TokenState&>(*this).cancel_locked(lock, reason);
    } catch (...) { // NOLINT(bugprone-empty-catch): no memory to tell the waiters; the state is set
    }
}

TokenState::Extras& TokenState::extras()
{
    if (!extras_)
        extras_ = std::make_unique<Extras>();
    return *extras_;
}

std::stop_token TokenState::stop_token()
{
    if (forked())
        return {};
    std::lock_guard const lock(mutex_);
    auto& source = extras().stop_source;
    if (!source) {
        source.emplace();
        if (reason() != CancelReason::none)
            source->request_stop();
    }
    return source->get_token();
}

bool TokenState::set_dependent(std::weak_ptr<TokenState const> other)
{
    std::lock_guard const lock(mutex_);
    extras().dependent = std::move(other);
    return reason() == CancelReason::none;
}

void TokenState::wait(std::shared_ptr<TokenState> const& state, Waiters::Handler handler)
{
    if (state->forked()) {
        std::move(handler).complete_at_once(make_error_code(errc::forked));
        return;
    }
    (void)state->cancelled(); // cancels it if it is late
    std::unique_lock lock(state->mutex_);
    if (state->reason() != CancelReason::none) {
        lock.unlock();
        std::move(handler).complete_at_once(error_code());
        return;
    }
    state->waiters_.add(std::move(handler), {state, &state->mutex_});
}

} // namespace tenure::engine
