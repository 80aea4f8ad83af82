// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>
#include <tenure/detail/api.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tenure
{

/** One event in the life of an acquisition or a lease, for tracing (`StoreOptions::on_event`). It contains no secret.
 */
struct Event {
    /** What happened. */
    enum class Kind : std::uint8_t {
        /// an acquisition that found all keys held, or that got none, has ended; `error` says how. `acquired` follows
        /// if it got one
        waited,
        /// a lease was granted
        acquired,
        /// a renewal failed or is overdue, as `LeaseState::at_risk`
        at_risk,
        /// a lease was renewed after it had been at risk
        renewed_late,
        /// the token was cancelled, for `reason`
        lost,
        /// a release or detachment has begun, as `reason` says; of a lost lease, the work under it has ended
        released
    };

    /// the kind of event
    Kind kind = Kind::acquired;
    /// when it happened; it may be handed over later
    Instant at{};
    /// address of the store, without secrets
    std::string store;
    /// the key of the lease; for `waited`, all keys of the lock or pool, as `KeyRange::describe`
    std::string key;
    /// number of the slot; unset for a lock, and for `waited`
    std::optional<std::uint32_t> slot;
    /// `StoreOptions::worker_name`
    std::string worker;
    /// `LockConfig::note` or `SlotPoolConfig::note`
    std::string note;
    /// of the lease; 0 for `waited`, and without fencing
    std::uint64_t fencing_token = 0;
    /// `waited`, `acquired`: from the call to this event. Otherwise from the grant to this event
    std::chrono::nanoseconds duration{};
    /// how long the lease remains valid, unless it is renewed; negative if its validity has ended. Zero for `waited`
    std::chrono::nanoseconds remaining{};
    /// `lost`, `released`: why the token was cancelled
    CancelReason reason = CancelReason::none;
    /// `waited`: how the acquisition ended
    boost::system::error_code error;
    /// `waited`: it was a single try, whose `errc::timed_out` says that all keys are held
    bool is_try = false;
    /// what `StoreOptions::event_context` returned for this acquisition; null without it
    std::shared_ptr<void> context = nullptr;
};
/** The name of the enumerator. */
[[nodiscard]] TENURE_API std::string_view to_string(Event::Kind kind) noexcept;

/** Receives the events of a store.
 *
 *  @par Thread safety  Called by the thread that also calls log sinks (`LogSink`), one call at a time. A call may
 * block: this delays log lines and other events, and never a renewal. The queue of the thread holds up to 1,000 lines
 * and events, and takes no event if it holds 900. Further events are dropped and counted
 * (`Statistics::events_dropped`). Exceptions are ignored.
 *  @par Object lifetime  As for `LogSink`: events may arrive after their store was destroyed, until `flush_log` has
 *    returned true. */
using EventHook = std::function<void(Event const&)>;

/** Makes what all events of one acquisition and of its lease have in common (`Event::context`), for example a reference
 * to the caller's span.
 *
 *  @par Thread safety  Called by the thread that starts an acquisition, before `async_acquire` or its `co_await`
 * continues, so it must not block. A `MultiLock` calls it for each of its keys. Calls may come at the same time. If it
 * throws, the context is null. Any thread may destroy the context.
 *  @par Object lifetime  The store keeps it until it is closed. */
using EventContext = std::function<std::shared_ptr<void>()>;

} // namespace tenure
