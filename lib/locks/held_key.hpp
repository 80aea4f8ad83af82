// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "holder.hpp"

#include "engine/completion.hpp"
#include "runtime/names.hpp"
#include "runtime/timer.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/backend/share.hpp>
#include <tenure/clock.hpp>
#include <tenure/lease.hpp>
#include <tenure/options.hpp>
#include <tenure/reentrant_lease.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::locks
{

/** The lease that all ReentrantLeases of a holder on a key share. */
struct Grant {
    Lease lease;
    std::shared_ptr<HeldKey> key;
    std::shared_ptr<Runtime> runtime;
    /// what the lease covers
    std::optional<Share> share;
    /// ReentrantLeases that have not ended; written with the holder's mutex held
    std::atomic<std::uint32_t> depth{0};
};

/** The state of one ReentrantLease. */
struct Entry {
    std::shared_ptr<Grant> grant;
    std::atomic<bool> ended{false};
};

/** One key of a store that a holder has, requests or releases: one claim for all waiters, one lease for all
 * ReentrantLeases, and one release.
 *
 *  Everything runs within a change of the holder. Pending requests and ReentrantLeases own this object; the holder does
 * not. */
class HeldKey : public std::enable_shared_from_this<HeldKey>
{
public:
    using HolderPtr = std::shared_ptr<HolderState>;
    using Handler = engine::Completion<void(error_code, ReentrantLease)>;
    using ReleaseHandler = engine::Completion<void(error_code, ReleaseOutcome)>;

    HeldKey(HolderPtr holder, EngineLock const& lock);

    /** @param is_try  a key that others hold is no error */
    static void acquire(
        HolderPtr const& holder, Lock const& lock, AcquireOptions const& options, bool is_try,
        asio::any_completion_handler<void(error_code, ReentrantLease)> handler);

    /** Ends a ReentrantLease.
     *  @param handler  unset: no caller waits */
    static void end(std::shared_ptr<Entry> const& entry, std::optional<ReleaseHandler> handler);

    // -- within a change of the holder --

    /** True if ReentrantLeases exist whose lease is lost. */
    [[nodiscard]] bool lost() const noexcept;
    [[nodiscard]] Refusal refuse_after_loss() const;

private:
    using Id = std::uint64_t;

    /** A call that waits for a ReentrantLease. */
    struct Waiter {
        Id id;
        /// claims for it; covers what it asks for, and has the same share for all waiters
        EngineLock lock;
        Handler handler;
        bool is_try;
        /// end of the wait; the least instant: a single try
        Instant deadline;
    };
    /** A pending acquisition of the lock. */
    struct Attempt {
        Instant deadline;
        std::optional<Share> share;
        asio::cancellation_signal cancel;
    };
    using AttemptPtr = std::shared_ptr<Attempt>;
    using ReleaseCall = engine::Call<ReleaseOutcome>;
    /** The release of the lease by its last ReentrantLease. Owned by the request, used on the strand. */
    struct Release {
        Release(std::shared_ptr<Runtime> on, std::shared_ptr<ReleaseCall> waits)
            : runtime(std::move(on))
            , call(std::move(waits))
        {
        }
        std::shared_ptr<Runtime> runtime;
        /// of the caller, who may have stopped waiting
        std::shared_ptr<ReleaseCall> call;
        /// of waiters that do not wait longer for the answer
        std::list<Timer> limits;
    };
    using Afterwards = HolderState::Afterwards;

    /** What the lease covers, or the claim for all waiters. One of the two exists. */
    [[nodiscard]] std::optional<Share> const& share() const noexcept;
    [[nodiscard]] std::optional<Refusal>
    refuse(EngineLock const& lock, std::optional<std::chrono::milliseconds> ttl) const;
    [[nodiscard]] static ReentrantLease reenter(std::shared_ptr<Grant> const& grant);
    void wait(EngineLock const& lock, AcquireOptions const& options, bool is_try, Handler handler);
    /** Limits the wait for the answer to the last release. */
    void limit(Waiter const& waiter, std::chrono::milliseconds time);
    void stop_waiting(Id id, error_code error);
    /** Completes the waiter's call once the mutex is unlocked. */
    static void
    complete(Afterwards& afterwards, Waiter waiter, error_code error, ReentrantLease hold = ReentrantLease());
    /** Starts an acquisition for each waiter that no acquisition serves. */
    void ask();
    void ask(Waiter const& waiter);
    void answered(AttemptPtr const& attempt, error_code error, Lease lease);
    void grant(Attempt const& attempt, Lease lease, Afterwards& afterwards);
    void give_up(Attempt const& attempt, error_code error, Afterwards& afterwards);
    /** Cancels acquisitions without waiters. */
    void cancel_attempts();
    static void start(std::shared_ptr<Grant> const& grant, std::shared_ptr<Release> const& release);
    void released();
    /** Removes the key from the holder if nothing is pending. */
    void settle();

    HolderPtr holder_;
    std::weak_ptr<engine::Core> store_;
    std::string key_;
    Id last_id_ = 0;
    std::vector<Waiter> waiters_;
    std::vector<AttemptPtr> attempts_;
    /// ttl of the first acquisition of the current lease, or of the next one
    std::chrono::milliseconds ttl_{};
    /// the grant that the ReentrantLeases share; null without ReentrantLeases
    std::weak_ptr<Grant> grant_;
    bool held_ = false;
    /// the last ReentrantLease has ended, and the release is unanswered
    bool releasing_ = false;
    /// that release
    std::weak_ptr<Release> release_;
};

} // namespace tenure::locks
