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
class Contest;
}

namespace locks
{
class OrderedLocks;
}

class View;

namespace detail
{

/** Neither options nor a time to wait: a completion token. */
template <class T>
inline constexpr bool is_completion_token =
    !std::is_convertible_v<T, AcquireOptions const&> && !std::is_convertible_v<T, std::chrono::milliseconds>;

} // namespace detail

/** What `Lock` and `SlotPool` have in common: keys of a store that can be acquired.
 *
 *  @tparam LeaseType  `Lease` or `Slot`
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; only moving,
 *  assigning and destroying it need that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are under way and leases are held; both go on.
 */
template <class LeaseType>
class TENURE_API Acquirable
{
public:
    using executor_type = asio::any_io_executor;
    using lease_type = LeaseType;

    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(contest_); }

    /** The keys, for `Store::async_inspect`. */
    [[nodiscard]] KeyRangePtr range() const noexcept;

    /** The ttl of leases that do not ask for another. */
    [[nodiscard]] std::chrono::milliseconds ttl() const noexcept;

    /** How long the store may be unavailable without a lease of this lock or pool being lost: an outage that is no
     * longer never costs a lease, whenever it begins. Somewhat less than half of the ttl unless the options say
     * otherwise.
     *
     * It counts from the first renewal that gets no answer to the first that gets one, so connecting anew is a part of
     * it. Leases with a ttl of their own tolerate another time (`AcquireOptions::ttl`, `Lease::async_renew`). On
     * ZooKeeper it is shorter (docs/stores.md). 0 where the library does not try again: with `Renewal::manual` and
     * `CancelWhen::first_failed_renewal`. */
    [[nodiscard]] std::chrono::milliseconds tolerated_outage() const noexcept;

    /** Acquires the lock, or the first free slot, waiting while others hold what is asked for.
     *
     *  On success the lease is valid and owned by the caller; on error nothing is owned.
     *
     *  @param options  wait: time from this call until it gives up, default 30 s, 0 tries once, `forever` never gives
     * up; ttl: of this lease, 0 for that of the lock or pool; prefer: the slot to try first, of a pool only. A try that
     * the store does not answer ends after the ttl, and after 2 s at the latest
     *  @par Completion signature  void(error_code, Lease) or void(error_code, Slot)
     *  @par Errors  errc::timed_out: held by others until the wait ended; errc::store_unavailable, errc::store_refused,
     *               errc::authentication_failed, errc::permission_denied, errc::wrong_database, errc::wrong_server,
     *               errc::tls_failed, errc::protocol_error: the store, see `Store::diagnostics`; errc::key_conflict: no
     *               key can ever free by itself; errc::ttl_too_short: round trips leave nothing of the ttl;
     *               errc::not_replicated: too few replicas acknowledged it, where the config asks for them;
     *               errc::forked; asio::error::operation_aborted: cancelled by the caller;
     *               std::errc::invalid_argument: an option
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting at any point; a grant that arrives
     * later is released in the background, and lapses after the ttl if that fails
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_acquire(AcquireOptions const& options = {}, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, LeaseType)>(
            Initiate<LeaseType>{contest_}, completion, options);
    }
    template <class CompletionToken>
        requires detail::is_completion_token<CompletionToken>
    auto async_acquire(CompletionToken&& completion) const
    {
        return async_acquire(AcquireOptions{}, std::forward<CompletionToken>(completion));
    }
    /** The same with nothing but a time to wait: `co_await lock.async_acquire(5s)`. */
    template <class Rep, class Period, class CompletionToken = asio::deferred_t>
    auto async_acquire(std::chrono::duration<Rep, Period> wait, CompletionToken&& completion = {}) const
    {
        return async_acquire(
            AcquireOptions{std::chrono::ceil<std::chrono::milliseconds>(wait)},
            std::forward<CompletionToken>(completion));
    }

    /** Tries once, as `async_acquire` with a wait of 0 does, and completes with `std::nullopt` and no error if others
     * hold what is asked for.
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
            Initiate<std::optional<LeaseType>>{contest_}, completion, options);
    }
    template <class CompletionToken>
        requires detail::is_completion_token<CompletionToken>
    auto async_try_acquire(CompletionToken&& completion) const
    {
        return async_try_acquire(AcquireOptions{}, std::forward<CompletionToken>(completion));
    }

    /** Holds a lease around the work: acquires one, calls `work(lease)`, and when the lease is lost, cancels the work,
     * waits for it to wind down and starts again with another lease. Ends when the work ends by itself, also after it
     * has released its lease.
     *
     *  @param work  `asio::awaitable<void>(Lease&)` or `(Slot&)`, called once per lease; see `with_lease` about lambdas
     * and g++ 12
     *  @param options  as in `async_acquire`, for each acquisition; the default of wait is `forever`
     *  @par Completion signature  void(std::exception_ptr)
     *  @par Errors  boost::system::system_error with what `async_acquire` fails with; the work's own exceptions
     *  @par Per-operation cancellation  passed on to the work, whose release is still waited for, or stops waiting for
     * a lease; one that is granted at that moment is released in the background
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
    template <class Work, class CompletionToken = asio::deferred_t>
        requires detail::is_completion_token<CompletionToken>
    auto async_run(Work&& work, CompletionToken&& completion = {}) const
    {
        return async_run(std::forward<Work>(work), AcquireOptions{}, std::forward<CompletionToken>(completion));
    }

    /** Who holds which key: a snapshot for people, it proves nothing. As `Store::async_inspect(range())`. */
    template <class CompletionToken = asio::deferred_t>
    auto async_inspect(CompletionToken&& completion = {}) const
    {
        return store().async_inspect(range(), std::forward<CompletionToken>(completion));
    }

    /** Force-releases a key from the holder that `async_inspect` showed; another holder is left alone. As
     * `Store::async_evict`.
     *
     *  @param who  who evicts: printable, at most 128 bytes */
    template <class CompletionToken = asio::deferred_t>
    auto async_evict(KeyState const& seen, std::string who, CompletionToken&& completion = {}) const
    {
        return store().async_evict(
            range(), seen.index, seen.owner, std::move(who), std::forward<CompletionToken>(completion));
    }

protected:
    using ContestPtr = std::shared_ptr<engine::Contest>;

    explicit Acquirable(ContestPtr contest) noexcept
        : contest_(std::move(contest))
    {
    }

    [[nodiscard]] engine::Contest const& contest() const noexcept { return *contest_; }

private:
    friend class locks::OrderedLocks;
    friend View;

    template <class Result>
    struct Initiate {
        ContestPtr contest;
        using executor_type = asio::any_io_executor;
        [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(contest); }
        template <class Handler>
        void operator()(Handler&& handler, AcquireOptions const& options) const
        {
            constexpr bool is_try = !std::is_same_v<Result, LeaseType>;
            start(
                contest, options, is_try,
                detail::AcquireHandler<Result, std::decay_t<Handler>>(std::forward<Handler>(handler)));
        }
    };
    [[nodiscard]] static AcquireOptions
    with_default_wait(AcquireOptions options, std::chrono::milliseconds wait) noexcept
    {
        options.wait = options.wait.value_or(wait);
        return options;
    }
    /** Asked for when it is needed: an executor costs a call each time it is moved. */
    [[nodiscard]] static asio::any_io_executor const& executor_of(ContestPtr const& contest) noexcept;
    [[nodiscard]] Store store() const noexcept;
    static void start(
        ContestPtr const& contest, AcquireOptions const& options, bool is_try,
        asio::any_completion_handler<void(error_code, Lease)> handler);

    ContestPtr contest_;
};

extern template class Acquirable<Lease>;
extern template class Acquirable<Slot>;

} // namespace tenure
