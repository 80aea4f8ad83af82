// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "token_state.hpp"

#include "fork_guard.hpp"

#include <tenure/errc.hpp>

#include <utility>

namespace tenure::engine
{

TokenState::TokenState(std::shared_ptr<Runtime> runtime, Instant fires_at, LossReason because)
    : runtime_(std::move(runtime))
    , fork_generation_(fork_generation())
    , fires_at_(fires_at.time_since_epoch().count())
    , because_(because)
{
}

bool TokenState::forked() const noexcept
{
    return fork_generation_ != fork_generation();
}

bool TokenState::set_fires_at(Instant instant, LossReason because)
{
    // written here only: where nothing changes there is nothing to guard
    if (instant == fires_at() && because == because_)
        return phase_.load(std::memory_order_acquire) == Phase::live;
    std::lock_guard const lock(mutex_);
    if (phase_.load(std::memory_order_relaxed) != Phase::live)
        return false;
    fires_at_.store(instant.time_since_epoch().count(), std::memory_order_release);
    because_ = because;
    return true;
}

bool TokenState::fire(LossReason reason)
{
    std::unique_lock lock(mutex_);
    if (phase_.load(std::memory_order_relaxed) != Phase::live)
        return false;
    fire_locked(lock, reason);
    return true;
}

void TokenState::fire_locked(std::unique_lock<std::mutex>& lock, LossReason reason)
{
    reason_.store(reason, std::memory_order_release);
    phase_.store(Phase::fired, std::memory_order_release);
    auto waiting = waiters_.take_all();
    auto source = std::exchange(stop_source_, std::nullopt);
    if (source) {
        // kept for those who ask later; its callbacks run on the strand, not on whichever thread looked at the clock
        stop_source_ = source;
        runtime_->post([source = std::move(*source)]() mutable { source.request_stop(); });
    }
    lock.unlock();
    Waiters::post_all(std::move(waiting), {});
}

bool TokenState::end()
{
    std::unique_lock lock(mutex_);
    if (phase_.load(std::memory_order_relaxed) == Phase::fired)
        return false;
    phase_.store(Phase::ended, std::memory_order_release);
    auto waiting = waiters_.take_all();
    lock.unlock();
    if (!waiting.empty())
        Waiters::post_all(std::move(waiting), make_error_code(errc::released));
    return true;
}

bool TokenState::cancelled() const noexcept
{
    switch (phase_.load(std::memory_order_acquire)) {
    case Phase::fired:
        return true;
    case Phase::ended:
        return false;
    case Phase::live:
        break;
    }
    auto const now = runtime_->now();
    if (now < fires_at())
        return false;
    // nobody tells anything in a child, and a thread that is not here may have the mutex for ever
    if (forked())
        return true;
    // late: the timer has not run yet. Decide under the lock, where a renewal either has come first or never counts
    auto& self = const_cast<TokenState&>(
        *this); // NOLINT(cppcoreguidelines-pro-type-const-cast): logically const, the clock did it
    std::unique_lock lock(mutex_);
    if (phase_.load(std::memory_order_relaxed) == Phase::live && now >= fires_at()) {
        try {
            self.fire_locked(lock, because_);
        } catch (...) { // NOLINT(bugprone-empty-catch): no memory to tell the waiters; the state is set, and true is
                        // the answer
        }
        return true;
    }
    return phase_.load(std::memory_order_relaxed) == Phase::fired;
}

std::stop_token TokenState::stop_token()
{
    if (forked())
        return {};
    std::lock_guard const lock(mutex_);
    if (!stop_source_) {
        stop_source_.emplace();
        if (phase_.load(std::memory_order_relaxed) == Phase::fired)
            stop_source_->request_stop();
    }
    return stop_source_->get_token();
}

void TokenState::wait(std::shared_ptr<TokenState> const& state, detail::UserHandler<void(error_code)> handler)
{
    Waiters::Handler pending(std::move(handler));
    if (state->forked()) {
        std::move(pending).post(make_error_code(errc::forked));
        return;
    }
    auto slot = pending.slot();
    (void)state->cancelled(); // fires it if it is late
    std::unique_lock lock(state->mutex_);
    auto const phase = state->phase_.load(std::memory_order_relaxed);
    if (phase != Phase::live) {
        lock.unlock();
        std::move(pending).post(phase == Phase::fired ? error_code() : make_error_code(errc::released));
        return;
    }
    auto const id = state->waiters_.add(std::move(pending));
    // assigned under the lock: once it is released the handler may run, and its slot may be used for something else
    if (slot.is_connected())
        slot.assign([weak = std::weak_ptr(state), id](asio::cancellation_type type) {
            auto const alive = weak.lock();
            if (!alive || !asks_for_an_end(type))
                return;
            std::unique_lock cancelling(alive->mutex_);
            auto waiting = alive->waiters_.take(id);
            cancelling.unlock();
            if (waiting)
                std::move(*waiting).post(error_code(asio::error::operation_aborted));
        });
}

} // namespace tenure::engine
