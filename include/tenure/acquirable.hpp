// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/acquire_handler.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/detail/run_held.hpp>
#include <tenure/lease.hpp>
#include <tenure/options.hpp>
#include <tenure/slot.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenure
{

namespace engine
{
class LeaseTarget;
}

namespace locks
{
class OrderedLocks;
}

class View;

namespace detail
{

/** A completion token: neither options nor a wait time. */
template <class T>
inline constexpr bool is_completion_token =
    !std::is_convertible_v<T, AcquireOptions const&> && !std::is_convertible_v<T, std::chrono::milliseconds>;

} // namespace detail

/** The common base of `Lock` and `SlotPool`: keys of a store that can be acquired.
 *
 *  @tparam LeaseType  `Lease` or `Slot`
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are in progress and leases are held; both continue.
 */
template <class LeaseType>
class TENURE_API Acquirable
{
public:
    /// the type of `get_executor()`
    using executor_type = asio::any_io_executor;
    /// `Lease` or `Slot`
    using lease_type = LeaseType;

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(target_); }

    /** The keys, for `Store::async_inspect`. */
    [[nodiscard]] KeyRangePtr range() const noexcept;

    /** The default ttl of its leases. */
    [[nodiscard]] std::chrono::milliseconds ttl() const noexcept;

    /** The longest store outage that costs no lease of this lock or pool, whenever the outage begins. With default
     * options it is slightly less than half of the ttl.
     *
     * An outage lasts from the first unanswered renewal to the first answered one, so it includes the time to
     * reconnect. Leases with their own ttl tolerate a different outage (`AcquireOptions::ttl`, `Lease::async_renew`).
     * On ZooKeeper it is shorter (docs/users/guarantees.md). It is 0 if the library does not retry: with
     * `Renewal::manual` and `CancelWhen::first_failed_renewal`. */
    [[nodiscard]] std::chrono::milliseconds tolerated_outage() const noexcept;

    /** Acquires the lock, or the first free slot, and waits while others hold it.
     *
     *  On success the lease is valid and owned by the caller; on error nothing is owned.
     *
     *  @param options  wait: time from this call until it gives up, default 30 s, 0 tries once, `forever` never gives
     *    up; ttl: of this lease, 0 for the ttl of the lock or pool; prefer: the slot to try first, for pools only. An
     *    attempt without a reply ends after the ttl, or after 2 s if the ttl is longer
     *  @par Completion signature  void(error_code, Lease) or void(error_code, Slot)
     *  @par Errors  errc::timed_out: held by others until the wait ended; errc::store_unavailable, errc::store_refused,
     *               errc::authentication_failed, errc::permission_denied, errc::wrong_database, errc::wrong_server,
     *               errc::tls_failed, errc::protocol_error: errors of the store, see `Store::diagnostics`;
     *               errc::key_conflict: no key can become free by itself; errc::ttl_too_short: the round trips use up
     *               the ttl; errc::not_replicated: fewer replicas acknowledged the claim than the config requires;
     *               errc::closed: the store is being closed; errc::forked; asio::error::operation_aborted: cancelled
     *               by the caller; std::errc::invalid_argument: an option
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting at any point; a grant that arrives
     * later is released in the background, and expires after the ttl if that release fails
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_acquire(AcquireOptions const& options = {}, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, LeaseType)>(
            Initiate<LeaseType>{target_}, completion, options);
    }
    /** Overload with default options. */
    template <class CompletionToken>
        requires detail::is_completion_token<CompletionToken>
    auto async_acquire(CompletionToken&& completion) const
    {
        return async_acquire(AcquireOptions{}, std::forward<CompletionToken>(completion));
    }
    /** Overload with only a wait time: `co_await lock.async_acquire(5s)`. */
    template <class Rep, class Period, class CompletionToken = asio::deferred_t>
    auto async_acquire(std::chrono::duration<Rep, Period> wait, CompletionToken&& completion = {}) const
    {
        return async_acquire(AcquireOptions{detail::wait_of(wait)}, std::forward<CompletionToken>(completion));
    }

    /** Tries once, as `async_acquire` with a wait of 0 does, and completes with `std::nullopt` and no error if others
     * hold it.
     *
     *  @param options  wait: unset or 0; ttl and prefer: as in `async_acquire`
     *  @par Completion signature  void(error_code, std::optional<Lease>) or void(error_code, std::optional<Slot>)
     *  @par Errors  as `async_acquire`, without errc::timed_out
     *  @par Per-operation cancellation  as `async_acquire`
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_try_acquire(AcquireOptions const& options = {}, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, std::optional<LeaseType>)>(
            Initiate<std::optional<LeaseType>>{target_}, completion, options);
    }
    /** Overload with default options. */
    template <class CompletionToken>
        requires detail::is_completion_token<CompletionToken>
    auto async_try_acquire(CompletionToken&& completion) const
    {
        return async_try_acquire(AcquireOptions{}, std::forward<CompletionToken>(completion));
    }

    /** Holds a lease around the work: acquires one, calls `work(lease)`, and when the lease is lost, cancels the work,
     * waits for it to finish and starts again with another lease. Ends when the work ends by itself, also after it has
     * released its lease.
     *
     *  The work runs on a strand over the handler's executor, as under `with_lease`.
     *
     *  @param work  `asio::awaitable<void>(Lease&)` or `(Slot&)`, called once per lease; see `with_lease` about lambdas
     * and g++ 12
     *  @param options  as in `async_acquire`, for each acquisition; the default of wait is `forever`
     *  @par Completion signature  void(std::exception_ptr)
     *  @par Errors  boost::system::system_error with the errors of `async_acquire`; the work's own exceptions
     *  @par Per-operation cancellation  passed on to the work, and the release still completes; or stops waiting for a
     *    lease, and a lease that is granted at that moment is released in the background
     */
    template <class Work, class CompletionToken = asio::deferred_t>
    auto async_run(Work&& work, AcquireOptions const& options, CompletionToken&& completion = {}) const
    {
        constexpr bool is_work = detail::is_work_without_result<Work, LeaseType>();
        static_assert(
            is_work,
            "async_run: the work must be callable with the Lease& or Slot& and return boost::asio::awaitable<void>, "
            "as a coroutine does");
        if constexpr (is_work)
            return asio::async_initiate<CompletionToken, void(std::exception_ptr)>(
                detail::InitiateRunHeld{get_executor()}, completion, *this, with_default_wait(options, forever),
                std::forward<Work>(work));
        else
            return asio::async_initiate<CompletionToken, void(std::exception_ptr)>(
                detail::InitiateNothing{}, completion);
    }
    /** Overload with default options: it waits `forever` for each lease. */
    template <class Work, class CompletionToken = asio::deferred_t>
        requires detail::is_completion_token<CompletionToken>
    auto async_run(Work&& work, CompletionToken&& completion = {}) const
    {
        return async_run(std::forward<Work>(work), AcquireOptions{}, std::forward<CompletionToken>(completion));
    }

    /** Lists the holder of each key: a snapshot for display that proves nothing. As `Store::async_inspect(range())`. */
    template <class CompletionToken = asio::deferred_t>
    auto async_inspect(CompletionToken&& completion = {}) const
    {
        return store().async_inspect(range(), std::forward<CompletionToken>(completion));
    }

    /** Force-releases a key from the holder that `async_inspect` showed; if another holder has the key now, nothing
     * changes. As `Store::async_evict`.
     *
     *  @param who  the evicting person or program: printable, without blanks and '/', at most 128 bytes */
    template <class CompletionToken = asio::deferred_t>
    auto async_evict(KeyState const& seen, std::string who, CompletionToken&& completion = {}) const
    {
        return store().async_evict(
            range(), seen.index, seen.owner, std::move(who), std::forward<CompletionToken>(completion));
    }

protected:
    /// the engine's part of a lock or pool
    using LeaseTargetPtr = std::shared_ptr<engine::LeaseTarget>;

    /** @param target  the engine's part, never null */
    explicit Acquirable(LeaseTargetPtr target) noexcept
        : target_(std::move(target))
    {
    }

    /** The engine's part, for `Lock` and `SlotPool`. */
    [[nodiscard]] engine::LeaseTarget const& target() const noexcept { return *target_; }

private:
    friend class locks::OrderedLocks;
    friend View;

    template <class Result>
    struct Initiate {
        LeaseTargetPtr target;
        using executor_type = asio::any_io_executor;
        [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(target); }
        template <class Handler>
        void operator()(Handler&& handler, AcquireOptions const& options) const
        {
            constexpr bool is_try = !std::is_same_v<Result, LeaseType>;
            start(
                target, options, is_try,
                detail::AcquireHandler<Result, std::decay_t<Handler>>(std::forward<Handler>(handler)));
        }
    };
    [[nodiscard]] static AcquireOptions
    with_default_wait(AcquireOptions options, std::chrono::milliseconds wait) noexcept
    {
        options.wait = options.wait.value_or(wait);
        return options;
    }
    /** Fetched on demand: moving an executor costs a call each time. */
    [[nodiscard]] static asio::any_io_executor const& executor_of(LeaseTargetPtr const& target) noexcept;
    [[nodiscard]] Store store() const noexcept;
    static void start(
        LeaseTargetPtr const& target, AcquireOptions const& options, bool is_try,
        asio::any_completion_handler<void(error_code, Lease)> handler);

    LeaseTargetPtr target_;
};

extern template class Acquirable<Lease>;
extern template class Acquirable<Slot>;

} // namespace tenure
