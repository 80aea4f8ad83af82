// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/acquire_handler.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/detail/run_held.hpp>
#include <tenure/lease_set.hpp>
#include <tenure/lock.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenure
{

namespace locks
{
class OrderedLocks;
}

/** Several keys of one store, and how their leases are held. */
struct MultiLockConfig {
    /// 1 to 1,024 keys, each as `LockConfig::key`; duplicates count once
    std::vector<std::string> keys;
    /// how long the store keeps a claim without renewal; 100 ms (some stores: more) to 24 h
    std::chrono::milliseconds ttl{10'000};
    /// options of each key's lease. `max_hold`, and with `Renewal::manual` also the ttl, counts from that key's own
    /// grant. That grant comes before the grant of the set if the set waits for other keys
    LeaseOptions lease = {};
    /// a note for people, as `LockConfig::note`
    std::string note = {};
};

/** Several locks that are acquired together: all of them, or none.
 *
 *  MultiLocks never deadlock with each other, whatever keys they share and in whatever order the keys were named. All
 *  processes use one order: first `StoreOptions::order_name` for locks of several stores, then the bytewise order of
 *  the keys. A MultiLock waits for a key only while it holds no later key of this order. Locks nested by hand are not
 *  covered: acquire them in the same order, or with a `wait`.
 *
 *  Without contention all keys of a store are claimed in one write. While a key is contended, later keys may be taken
 *  for a moment and released.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are in progress and leases are held; both continue.
 */
class TENURE_API MultiLock
{
public:
    /// the type of `get_executor()`
    using executor_type = asio::any_io_executor;
    /// the result of an acquisition
    using lease_type = LeaseSet;

    /// the largest number of keys
    static constexpr std::size_t most_locks = 1024;

    /** Keys of one store.
     *  @throws std::invalid_argument naming field, value and rule, before any I/O */
    MultiLock(Store store, MultiLockConfig config);
    /** Locks of one or several stores; for several, each needs a `StoreOptions::order_name` of its own. All these
     * stores share one execution context.
     *  @throws std::invalid_argument likewise */
    explicit MultiLock(std::vector<Lock> locks);

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(locks_); }
    /** How many keys. */
    [[nodiscard]] std::size_t size() const noexcept;

    /** Acquires all keys, waiting while others hold any of them.
     *
     *  On success every lease is valid; on error nothing is held, and a later grant is released.
     *
     *  @param options  `wait` limits the whole operation, default 30 s, 0 tries once, `forever` never gives up; `ttl`
     *    applies to each lease. Keys that are held while the operation waits for others are renewed, and acquired again
     *    after a loss
     *  @par Completion signature  void(error_code, LeaseSet)
     *  @par Errors  as `Lock::async_acquire`, of the first key that failed
     *  @par Per-operation cancellation  terminal, partial, total: gives up at any point
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_acquire(AcquireOptions const& options = {}, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, LeaseSet)>(
            Initiate<LeaseSet>{locks_}, completion, options);
    }
    /** Overload with default options. */
    template <class CompletionToken>
        requires detail::is_completion_token<CompletionToken>
    auto async_acquire(CompletionToken&& completion) const
    {
        return async_acquire(AcquireOptions{}, std::forward<CompletionToken>(completion));
    }
    /** Overload with only a wait time: `co_await locks.async_acquire(5s)`. */
    template <class Rep, class Period, class CompletionToken = asio::deferred_t>
    auto async_acquire(std::chrono::duration<Rep, Period> wait, CompletionToken&& completion = {}) const
    {
        return async_acquire(AcquireOptions{detail::wait_of(wait)}, std::forward<CompletionToken>(completion));
    }

    /** Tries once, without waiting; the result is `std::nullopt` if others hold any of the keys.
     *
     *  @param options  `ttl` only
     *  @par Completion signature  void(error_code, std::optional<LeaseSet>)
     *  @par Errors, per-operation cancellation  as `async_acquire`, but for errc::timed_out
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_try_acquire(AcquireOptions const& options = {}, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, std::optional<LeaseSet>)>(
            Initiate<std::optional<LeaseSet>>{locks_}, completion, options);
    }
    /** Overload with default options. */
    template <class CompletionToken>
        requires detail::is_completion_token<CompletionToken>
    auto async_try_acquire(CompletionToken&& completion) const
    {
        return async_try_acquire(AcquireOptions{}, std::forward<CompletionToken>(completion));
    }

    /** Runs work while all keys are held; acquires the keys again and restarts the work after each loss. As
     * `Lock::async_run`.
     *
     *  @param work  `asio::awaitable<void>(LeaseSet&)`
     *  @param options  wait: default `forever`
     */
    template <class Work, class CompletionToken = asio::deferred_t>
    auto async_run(Work&& work, AcquireOptions options, CompletionToken&& completion = {}) const
    {
        constexpr bool is_work = detail::is_work_without_result<Work, LeaseSet>();
        static_assert(
            is_work,
            "async_run: the work must be callable with the LeaseSet& and return boost::asio::awaitable<void>, as a "
            "coroutine does");
        options.wait = options.wait.value_or(forever);
        if constexpr (is_work)
            return asio::async_initiate<CompletionToken, void(std::exception_ptr)>(
                detail::InitiateRunHeld{get_executor()}, completion, *this, options, std::forward<Work>(work));
        else
            return asio::async_initiate<CompletionToken, void(std::exception_ptr)>(
                detail::InitiateNothing{}, completion);
    }
    /** Overload with default options: it waits `forever`. */
    template <class Work, class CompletionToken = asio::deferred_t>
        requires detail::is_completion_token<CompletionToken>
    auto async_run(Work&& work, CompletionToken&& completion = {}) const
    {
        return async_run(std::forward<Work>(work), AcquireOptions{}, std::forward<CompletionToken>(completion));
    }

private:
    using LocksPtr = std::shared_ptr<locks::OrderedLocks const>;

    template <class Result>
    struct Initiate {
        LocksPtr locks;
        using executor_type = asio::any_io_executor;
        [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(locks); }
        template <class Handler>
        void operator()(Handler&& handler, AcquireOptions const& options) const
        {
            constexpr bool is_try = !std::is_same_v<Result, LeaseSet>;
            start(
                locks, options, is_try,
                detail::AcquireHandler<Result, std::decay_t<Handler>>(std::forward<Handler>(handler)));
        }
    };

    [[nodiscard]] static asio::any_io_executor const& executor_of(LocksPtr const& locks) noexcept;
    static void start(
        LocksPtr const& locks, AcquireOptions const& options, bool is_try,
        asio::any_completion_handler<void(error_code, LeaseSet)> handler);

    LocksPtr locks_;
};

} // namespace tenure
