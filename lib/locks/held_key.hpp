// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "holder.hpp"

#include "engine/completion.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/clock.hpp>
#include <tenure/hold.hpp>
#include <tenure/lease.hpp>
#include <tenure/options.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::locks
{

/** The lease that all Holds of a holder on a key share. */
struct Grant {
    Lease lease;
    std::shared_ptr<HeldKey> key;
    std::shared_ptr<Runtime> runtime;
    /// Holds that have not ended; written with the holder's mutex held
    std::atomic<std::uint32_t> depth{0};
};

/** The state of one Hold. */
struct Entry {
    std::shared_ptr<Grant> grant;
    std::atomic<bool> ended{false};
};

/** One key of a store that a holder has, requests or releases: one claim for all waiters, one lease for all Holds, and
 *  one release.
 *
 *  The mutex of the holder guards all members. Pending requests and Holds own this object; the holder does not. */
class HeldKey : public std::enable_shared_from_this<HeldKey>
{
public:
    using HolderPtr = std::shared_ptr<HolderState>;
    using Handler = engine::Completion<void(error_code, Hold)>;
    using ReleaseHandler = engine::Completion<void(error_code, ReleaseOutcome)>;

    HeldKey(HolderPtr holder, EngineLock const& lock);

    /** @param is_try  a key that others hold is no error */
    static void acquire(
        HolderPtr const& holder, Lock const& lock, AcquireOptions const& options, bool is_try,
        asio::any_completion_handler<void(error_code, Hold)> handler);

    /** Ends a Hold.
     *  @param handler  unset: no caller waits */
    static void end(std::shared_ptr<Entry> const& entry, std::optional<ReleaseHandler> handler);

    // -- with the holder's mutex held --

    /** True if Holds exist whose lease is lost. */
    [[nodiscard]] bool lost() const noexcept;
    [[nodiscard]] Refusal refuse_after_loss() const;

private:
    using Id = std::uint64_t;

    /** A call that waits for a Hold. */
    struct Waiter {
        Id id;
        EngineLock lock;
        Handler handler;
        bool is_try;
        /// end of the wait; the least instant: a single try
        Instant deadline;
    };
    /** A pending acquisition of the lock. */
    struct Attempt {
        Instant deadline;
        asio::cancellation_signal cancel;
    };
    using AttemptPtr = std::shared_ptr<Attempt>;
    /** A call to complete after the mutex is unlocked. */
    struct Ended {
        Handler handler;
        error_code error;
        Hold hold;
    };

    [[nodiscard]] std::optional<Refusal> refuse(EngineLock const& lock, std::chrono::milliseconds ttl) const;
    [[nodiscard]] static Hold reenter(std::shared_ptr<Grant> const& grant);
    void wait(EngineLock const& lock, AcquireOptions const& options, bool is_try, Handler handler);
    /** Limits the wait for the answer to the last release. */
    void limit(Waiter const& waiter, std::chrono::milliseconds time);
    void stop_waiting(Id id, error_code error);
    /** Starts an acquisition for each waiter that no acquisition serves. */
    void ask();
    void ask(Waiter const& waiter);
    void answered(AttemptPtr const& attempt, error_code error, Lease lease);
    void grant(Lease lease, std::vector<Ended>& ended);
    void give_up(Attempt const& attempt, error_code error, std::vector<Ended>& ended);
    /** Cancels acquisitions without waiters. */
    void cancel_attempts();
    void cancel_limits(std::shared_ptr<Runtime> const& runtime);
    void released(error_code error, ReleaseOutcome outcome);
    void stop_waiting_for_release(Id id);
    /** Removes the key from the holder if nothing is pending. */
    void settle();
    static void post(std::vector<Ended> ended);

    HolderPtr holder_;
    std::weak_ptr<engine::Core> store_;
    std::string key_;
    Id last_id_ = 0;
    std::vector<Waiter> waiters_;
    std::vector<AttemptPtr> attempts_;
    /// ttl of the first acquisition of the current lease, or of the next one
    std::chrono::milliseconds ttl_{};
    /// the grant that the Holds share; null without Holds
    std::weak_ptr<Grant> grant_;
    bool held_ = false;
    /// the last Hold has ended, and the release is unanswered
    bool releasing_ = false;
    /// the handler of the last Hold, which waits for the answer to the release
    std::optional<std::pair<Id, ReleaseHandler>> releaser_;
    /// timers of the waits for the answer to the release; only the strand uses them
    std::vector<Runtime::TimerId> limits_;
    /// where there may be such timers. Under the mutex
    std::shared_ptr<Runtime> limited_by_;
};

} // namespace tenure::locks
