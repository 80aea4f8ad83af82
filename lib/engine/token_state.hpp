// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "waiters.hpp"

#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>
#include <tenure/runtime.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

namespace tenure::engine
{

/** What all copies of a cancellation token share.
 *
 *  It goes from live to fired or to ended, once. Any thread that looks at it after `fires_at` fires it: nobody has to
 * wait for a timer that a blocked loop cannot run. Owned by its lease's record through aliasing pointers.
 */
class TokenState
{
public:
    TokenState(std::shared_ptr<Runtime> runtime, Instant fires_at, LossReason because);

    // -- for the keeper, on the strand --

    /** Moves the instant at which the token fires by itself, and says why it will. False if it has fired or ended: then
     * nothing changes. */
    bool set_fires_at(Instant instant, LossReason because);
    /** Fires now. False if it had fired or ended before. */
    bool fire(LossReason reason);
    /** The lease was released: it will never fire. False if it has fired. */
    bool end();

    // -- for everybody --

    [[nodiscard]] bool cancelled() const noexcept;
    [[nodiscard]] bool ended() const noexcept { return phase_.load(std::memory_order_acquire) == Phase::ended; }
    [[nodiscard]] LossReason reason() const noexcept { return reason_.load(std::memory_order_acquire); }
    [[nodiscard]] Instant fires_at() const noexcept
    {
        return Instant(Clock::duration(fires_at_.load(std::memory_order_acquire)));
    }
    [[nodiscard]] std::stop_token stop_token();
    /** This process is a fork of the one that it was made in. */
    [[nodiscard]] bool forked() const noexcept;
    [[nodiscard]] asio::any_io_executor const& executor() const noexcept { return runtime_->executor(); }

    static void wait(std::shared_ptr<TokenState> const& state, detail::UserHandler<void(error_code)> handler);

private:
    enum class Phase : unsigned char { live, fired, ended };

    /** With the mutex held by `lock`, which it releases. */
    void fire_locked(std::unique_lock<std::mutex>& lock, LossReason reason);

    std::shared_ptr<Runtime> runtime_;
    std::uint64_t fork_generation_;
    /// guards the transitions and what follows; the atomics may be read without it
    mutable std::mutex mutex_;
    std::atomic<Phase> phase_{Phase::live};
    std::atomic<LossReason> reason_{LossReason::none};
    /// nanoseconds of Clock
    std::atomic<Clock::rep> fires_at_;
    /// why it fires then; written on the strand with the mutex held
    LossReason because_;
    Waiters waiters_;
    /// made when somebody asks for a standard stop token
    std::optional<std::stop_source> stop_source_;
};

} // namespace tenure::engine
