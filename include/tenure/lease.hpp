// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/cancellation_token.hpp>
#include <tenure/clock.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/detail/initiate.hpp>
#include <tenure/detail/leave_key.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tenure
{

namespace engine
{
class Acquisition;
class LeaseRecord;
} // namespace engine
namespace locks
{
struct EngineLease;
} // namespace locks

/** The state of a lease, as its holder sees it. */
enum class LeaseState {
    /// held, and the last renewal succeeded
    held,
    /// held, but a renewal was refused or has been unanswered for ttl/6; the work continues
    at_risk,
    /// the token was cancelled by a loss (`is_loss(token().reason())`) and nothing is renewed: the work has to stop.
    /// `valid()` may remain true until `valid_until`. `async_renew` and `async_wait_at_risk` end with
    /// `errc::lease_lost`; a release still works
    lost,
    /// released, detached, or moved from, by the holder itself. Operations end with `errc::released`
    released
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(LeaseState state) noexcept;

/** The outcome of a release or a detachment. */
enum class ReleaseOutcome {
    /// the store confirmed the release: the key is free
    released,
    /// the key no longer belonged to this lease; nothing was changed
    was_lost,
    /// no answer yet: the release continues in the background, and the key expires within the ttl in any case
    unconfirmed,
    /// of a `ReentrantLease`: the holder has other ReentrantLeases on the key, so it stays held
    still_held
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(ReleaseOutcome outcome) noexcept;

class Lease;
template <>
struct detail::LeaveKey<Lease> {
    TENURE_API static void of(Lease& lease) noexcept;
};

/** Ownership of one key for a bounded time. Move-only.
 *
 *  The destructor releases the key in the background; `async_release` also reports completion. All queries are local
 *  and cost no I/O.
 *
 *  @par Thread safety  All members, `async_release` and the other operations among them, may be called at the same
 * time, from any thread, on the same object; moving, assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  Operations in progress share the state that they need: the lease may be destroyed before they
 *    complete.
 */
class [[nodiscard]] TENURE_API Lease
{
public:
    /// the type of `get_executor()`
    using executor_type = boost::asio::any_io_executor;

    /** No lease: `valid()` is false, the token counts as cancelled, and operations end with errc::released at once. */
    Lease() noexcept;
    /** The moved-from object is no lease. */
    Lease(Lease&& other) noexcept;
    /** Releases what this object held before, in the background. */
    Lease& operator=(Lease&& other) noexcept;
    Lease(Lease const&) = delete;
    Lease& operator=(Lease const&) = delete;
    ~Lease();

    /** True while the holder may rely on the lease. Reads the clock itself, so the result is right at once in a process
     * that was paused or whose event loop was blocked. */
    [[nodiscard]] bool valid() const noexcept;

    /** True if there is no grant: after a move or a failed acquisition. A lease that was lost or released is not empty:
     * `valid()` says whether the work may go on. */
    [[nodiscard]] bool empty() const noexcept { return record_ == nullptr; }

    /** Whether the lease is held, at risk, lost or released. Reads the clock itself, as `valid()` does. */
    [[nodiscard]] LeaseState state() const noexcept;

    /** The local instant up to which the holder may rely on the lease, always before the store's own expiry. */
    [[nodiscard]] Instant valid_until() const noexcept;

    /** When the token is cancelled unless a renewal succeeds before: `valid_until - notice`. */
    [[nodiscard]] Instant stop_at() const noexcept;

    /** The ttl that the store granted last. */
    [[nodiscard]] std::chrono::milliseconds ttl() const noexcept;

    /** Name of the key in the store; empty for no lease. */
    [[nodiscard]] std::string const& key() const noexcept;

    /** The value under the key; its random part is a secret of the holder. Empty for no lease. */
    [[nodiscard]] std::string const& owner() const noexcept;

    /** Strictly greater for every later holder of the same key. Pass it to the resource, which rejects smaller tokens.
     * docs/users/guarantees.md lists what may break the order.
     *  @throws std::logic_error if it has no token: fencing is off (`LeaseOptions::fencing`), or the lease is empty */
    [[nodiscard]] std::uint64_t fencing_token() const;
    /** Whether `fencing_token` returns one. */
    [[nodiscard]] bool has_fencing_token() const noexcept;

    /** The cancellation token, which is cancelled when this lease can no longer be relied on, or is released. */
    [[nodiscard]] CancellationToken token() const noexcept;

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept;

    /** Releases the key. Renewal ends before the release is written. A release never removes the claim of another
     * owner.
     *
     *  The lease ends when the operation is initiated, whatever the outcome.
     *
     *  @par Completion signature  void(error_code, ReleaseOutcome); `unconfirmed` after about 1 s without answer
     *  @par Errors  errc::released: it was released before; asio::error::operation_aborted: cancelled by the caller,
     * the release continues in the background; errc::forked
     *  @par Per-operation cancellation  terminal, partial: stops waiting for the answer. Not total, which promises no
     *    side effect: the lease is over from this call on
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_release(CompletionToken&& completion = {})
    {
        return detail::initiate<void(error_code, ReleaseOutcome), &start_release, &executor_of>(
            record_, std::forward<CompletionToken>(completion));
    }

    /** Ends the lease and leaves the key taken for a time, so that no program can acquire it before then. Use it to end
     * work that must run once in a window of time.
     *
     *  In one step the store compares the owner, writes `kept/<owner>` in its place, and sets the key to expire after
     *  `remaining`. That time starts when the store executes the request, not at the last renewal. A shorter
     *  `reuse_after` of a pool does not end it sooner, and a longer one still applies. No late renewal, claim or
     *  release changes that. A request whose answer is lost is retried.
     *
     *  The lease ends when the operation is initiated, whatever the outcome: renewals stop, and the token is cancelled
     *  with the reason `detached`, which is not a loss. Only invalid arguments leave the lease unchanged. The expiry of
     *  the key is not announced; waiters know its time.
     *
     *  @param remaining  how long the key stays taken, within the store's limits for a ttl
     *  @par Completion signature  void(error_code)
     *  @par Errors  none: the store confirmed it; errc::lease_lost: the key no longer belonged to this lease, and
     * nothing was changed; errc::released: the lease was released or detached before; errc::store_unavailable: not
     * confirmed within about 1 s: the detachment continues in the background, and the key expires within its ttl, or
     * within `remaining` if the store has executed it; std::errc::invalid_argument: the store does not allow this time;
     * std::errc::operation_not_supported: the store cannot detach (ZooKeeper); for both, the log and
     * `Store::diagnostics()` have the details; asio::error::operation_aborted: cancelled by the caller, the detachment
     * continues in the background; errc::forked
     *  @par Per-operation cancellation  terminal, partial: stops waiting for the answer. Not total, which promises no
     *    side effect: the lease is over from this call on
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_detach(std::chrono::milliseconds remaining, CompletionToken&& completion = {})
    {
        return detail::initiate<void(error_code), &start_detach, &executor_of>(
            record_, std::forward<CompletionToken>(completion), std::optional(remaining));
    }
    /** The same, with the ttl that the key has now. */
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::is_convertible_v<CompletionToken, std::chrono::milliseconds>)
    [[nodiscard]] auto async_detach(CompletionToken&& completion = {})
    {
        return detail::initiate<void(error_code), &start_detach, &executor_of>(
            record_, std::forward<CompletionToken>(completion), std::optional<std::chrono::milliseconds>());
    }

    /** Renews now with the given ttl, which also applies from then on. With `Renewal::manual`
     * there is no other renewal.
     *
     *  A shorter ttl lowers `valid_until` before the request is written.
     *
     *  @par Completion signature  void(error_code)
     *  @par Errors  errc::lease_lost: it was lost, the token is cancelled; errc::released; errc::forked;
     * errc::store_unavailable, errc::store_refused, errc::permission_denied: no success in time, validity is unchanged;
     * std::errc::invalid_argument: the store does not allow this ttl; asio::error::operation_aborted: cancelled by the
     * caller, the renewal may still take effect
     *  @par Per-operation cancellation  terminal, partial: stops waiting for the answer. Not total, which promises no
     *    side effect: the store may have renewed the lease
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_renew(std::chrono::milliseconds ttl, CompletionToken&& completion = {})
    {
        return detail::initiate<void(error_code), &start_renew, &executor_of>(
            record_, std::forward<CompletionToken>(completion), std::optional(ttl));
    }
    /** Overload that keeps the present ttl. */
    template <class CompletionToken = boost::asio::deferred_t>
        requires(!std::is_convertible_v<CompletionToken, std::chrono::milliseconds>)
    [[nodiscard]] auto async_renew(CompletionToken&& completion = {})
    {
        return detail::initiate<void(error_code), &start_renew, &executor_of>(
            record_, std::forward<CompletionToken>(completion), std::optional<std::chrono::milliseconds>());
    }

    /** Waits until the lease is at risk or lost.
     *
     *  @par Completion signature  void(error_code)
     *  @par Errors  none: at risk now; errc::lease_lost: the token is cancelled; errc::released; errc::forked;
     * asio::error::operation_aborted: cancelled by the caller
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting, which changes nothing
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto async_wait_at_risk(CompletionToken&& completion = {}) const
    {
        return detail::initiate<void(error_code), &start_wait_at_risk, &executor_of>(
            record_, std::forward<CompletionToken>(completion));
    }

protected:
    /** Null: no lease. */
    [[nodiscard]] std::shared_ptr<engine::LeaseRecord> const& record() const noexcept { return record_; }

private:
    friend engine::Acquisition;
    friend locks::EngineLease;
    friend detail::LeaveKey<Lease>;
    using RecordPtr = std::shared_ptr<engine::LeaseRecord>;
    using ReleaseHandler = boost::asio::any_completion_handler<void(error_code, ReleaseOutcome)>;
    using WaitHandler = boost::asio::any_completion_handler<void(error_code)>;

    explicit Lease(RecordPtr record) noexcept;

    /** Fetched on demand: moving an executor costs a call each time. */
    [[nodiscard]] static boost::asio::any_io_executor const& executor_of(RecordPtr const& record) noexcept;
    static void start_release(RecordPtr record, ReleaseHandler handler);
    static void start_detach(RecordPtr record, std::optional<std::chrono::milliseconds> remaining, WaitHandler handler);
    static void start_renew(RecordPtr record, std::optional<std::chrono::milliseconds> ttl, WaitHandler handler);
    static void start_wait_at_risk(RecordPtr record, WaitHandler handler);

    RecordPtr record_;
};

} // namespace tenure
