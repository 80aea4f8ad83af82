// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/fork_guard.hpp"
#include "runtime/names.hpp"
#include "waiters.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

namespace tenure::engine
{

/** The shared state of all copies of a cancellation token.
 *
 *  It is cancelled once. Any thread that reads it after `fires_at` cancels it, and so needs no timer, which a blocked
 *  event loop cannot run. The record of the lease owns it through aliasing pointers. */
class TokenState
{
public:
    TokenState(std::shared_ptr<Runtime> runtime, Instant fires_at, CancelReason because);
    TokenState(TokenState const&) = delete;
    TokenState& operator=(TokenState const&) = delete;
    virtual ~TokenState() = default;

    /** For the keeper, on the strand: sets the instant and the reason of the expiry. False if the token is already
     *  cancelled; then nothing changes. */
    bool set_fires_at(Instant instant, CancelReason because);

    // -- any thread --

    /** Cancels the token now. False if it was already cancelled. */
    bool cancel(CancelReason reason);
    [[nodiscard]] virtual bool cancelled() const noexcept;
    /** The reason of the cancellation, as of the last check: the token may have expired since. */
    [[nodiscard]] CancelReason reason() const noexcept { return reason_.load(std::memory_order_acquire); }
    [[nodiscard]] Instant fires_at() const noexcept
    {
        return Instant(Clock::duration(fires_at_.load(std::memory_order_acquire)));
    }
    [[nodiscard]] std::stop_token stop_token();
    /** True in a child of fork. */
    [[nodiscard]] bool forked() const noexcept { return fork_mark_.forked(); }
    [[nodiscard]] asio::any_io_executor const& executor() const noexcept { return runtime_->user_executor(); }

    [[nodiscard]] Runtime const& runtime() const noexcept { return *runtime_; }
    [[nodiscard]] std::shared_ptr<Runtime> const& shared_runtime() const noexcept { return runtime_; }
    /** The mutex, which the record of the lease shares. While it is locked, call only `reason`. */
    [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }

    /** Sets the one token to check when this token is cancelled, because its cancellation may depend on this one. False
     *  if this token is already cancelled; then `other` is not checked. */
    [[nodiscard]] bool set_dependent(std::weak_ptr<TokenState const> other);

    static void wait(std::shared_ptr<TokenState> const& state, Waiters::Handler handler);

protected:
    /** Cancels the token for a reader that found it due. Logically const: the expiry is the change. */
    void cancel_late(CancelReason reason) const noexcept;

private:
    /** With the mutex held by `lock`, which it releases. */
    void cancel_locked(std::unique_lock<std::mutex>& lock, CancelReason reason);
    void cancel_late(std::unique_lock<std::mutex>& lock, CancelReason reason) const noexcept;

    std::shared_ptr<Runtime> runtime_;
    ForkMark fork_mark_;
    /// guards the transitions and what follows; the atomics may be read without it
    mutable std::mutex mutex_;
    /// none: not cancelled
    std::atomic<CancelReason> reason_{CancelReason::none};
    /// expiry in nanoseconds of Clock
    std::atomic<Clock::rep> fires_at_;
    /// the reason of the expiry; written on the strand with the mutex locked
    CancelReason because_;
    Waiters waiters_;
    struct Extras {
        /// checked when this token is cancelled
        std::weak_ptr<TokenState const> dependent;
        /// created by the first request for a standard stop token
        std::optional<std::stop_source> stop_source;
    };
    /// null before the first request for one
    std::unique_ptr<Extras> extras_;

    [[nodiscard]] Extras& extras();
};

} // namespace tenure::engine
