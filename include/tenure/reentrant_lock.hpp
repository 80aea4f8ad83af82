// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/acquire_handler.hpp>
#include <tenure/detail/api.hpp>
#include <tenure/detail/run_held.hpp>
#include <tenure/hold.hpp>
#include <tenure/holder.hpp>
#include <tenure/lock.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tenure
{

namespace detail
{

/** The source of `RunHeld`: a lock on behalf of one holder. */
template <class LockType, class HolderType>
struct OnBehalf {
    LockType lock;
    HolderType holder;
    using lease_type = typename LockType::lease_type;
    [[nodiscard]] asio::any_io_executor get_executor() const noexcept { return lock.get_executor(); }
    template <class Handler>
    void async_acquire(AcquireOptions const& options, Handler&& handler) const
    {
        lock.async_acquire(holder, options, std::forward<Handler>(handler));
    }
};

} // namespace detail

/** Mutual exclusion on one key among all holders of all processes that use the same store; a `Holder` that has it may
 * acquire it again.
 *
 *  The store sees one claim and one release. The process counts the Holds for each store object, key and holder. A
 *  further acquisition costs no I/O and gets the same lease with the same fencing token. See `Holder` for an example.
 *  Distinct objects for one key are the same lock. The lock and a plain `Lock` of that key exclude each other.
 *
 *  - Acquisitions of one holder during a claim share the claim and complete together. An acquisition whose wait ends
 *    before the claim's does sends its own claim.
 *  - During the release of the last Hold, an acquisition waits for the answer and then claims.
 *  - After a loss, acquisitions of that holder end with errc::lease_lost until all Holds of the lost lease are gone: a
 *    nested call must not get a new lease while an outer call relies on the old one.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object; moving,
 *    assigning and destroying it require that no other thread uses it.
 *  @par Object lifetime  May be destroyed while operations are in progress and Holds are alive; both continue.
 */
class TENURE_API ReentrantLock
{
public:
    /// the type of `get_executor()`
    using executor_type = asio::any_io_executor;
    /// the result of an acquisition
    using lease_type = Hold;

    /** @throws std::invalid_argument naming field, value and rule, before any I/O */
    ReentrantLock(Store store, LockConfig config);

    /** Where handlers run that have no executor of their own. */
    [[nodiscard]] executor_type get_executor() const noexcept { return lock_.get_executor(); }
    /** `LockConfig::key`. */
    [[nodiscard]] std::string const& key() const noexcept { return lock_.key(); }
    /** The key, for `Store::async_inspect`. */
    [[nodiscard]] KeyRangePtr range() const noexcept { return lock_.range(); }
    /** The ttl of leases that do not ask for another. */
    [[nodiscard]] std::chrono::milliseconds ttl() const noexcept { return lock_.ttl(); }

    /** Acquires the lock for a holder: at once if the holder has it, else waiting while others hold it.
     *
     *  On success the Hold is valid and owned by the caller; on error nothing is owned.
     *
     *  @param options  as `Lock::async_acquire`; ttl: of the claimed lease; a further acquisition must use the same ttl
     *  @par Completion signature  void(error_code, Hold)
     *  @par Errors  as `Lock::async_acquire`; errc::lease_lost: the holder's lease was lost, and Holds of it are alive;
     * errc::out_of_order: with Order::checked the holder holds a key of this store above this one;
     * errc::would_deadlock: with Order::checked the holder holds this key by a `Lock`;
     * std::errc::invalid_argument, also if the lease has, or is claimed with, another ttl than the requested one. For
     * these the log and `Store::diagnostics()` have the details
     *  @par Per-operation cancellation  terminal, partial, total: stops only this wait. A shared claim ends with its
     *    last waiter; a grant that arrives later is released in the background
     */
    template <class CompletionToken = asio::deferred_t>
    auto
    async_acquire(Holder const& holder, AcquireOptions const& options = {}, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, Hold)>(
            Initiate<Hold>{lock_, holder}, completion, options);
    }
    /** Overload with default options. */
    template <class CompletionToken>
        requires detail::is_completion_token<CompletionToken>
    auto async_acquire(Holder const& holder, CompletionToken&& completion) const
    {
        return async_acquire(holder, AcquireOptions{}, std::forward<CompletionToken>(completion));
    }
    /** Overload with only a wait time: `co_await lock.async_acquire(holder, 5s)`. */
    template <class Rep, class Period, class CompletionToken = asio::deferred_t>
    auto async_acquire(
        Holder const& holder, std::chrono::duration<Rep, Period> wait, CompletionToken&& completion = {}) const
    {
        return async_acquire(holder, AcquireOptions{detail::wait_of(wait)}, std::forward<CompletionToken>(completion));
    }

    /** Tries once, as `async_acquire` with a wait of 0 does, and completes with `std::nullopt` and no error if others
     * hold the lock.
     *
     *  @param options  wait: unset or 0; ttl: as in `async_acquire`
     *  @par Completion signature  void(error_code, std::optional<Hold>)
     *  @par Errors  as `async_acquire`, without errc::timed_out
     *  @par Per-operation cancellation  as `async_acquire`
     */
    template <class CompletionToken = asio::deferred_t>
    auto
    async_try_acquire(Holder const& holder, AcquireOptions const& options = {}, CompletionToken&& completion = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, std::optional<Hold>)>(
            Initiate<std::optional<Hold>>{lock_, holder}, completion, options);
    }
    /** Overload with default options. */
    template <class CompletionToken>
        requires detail::is_completion_token<CompletionToken>
    auto async_try_acquire(Holder const& holder, CompletionToken&& completion) const
    {
        return async_try_acquire(holder, AcquireOptions{}, std::forward<CompletionToken>(completion));
    }

    /** Holds the lock around the work, as `Lock::async_run` does. After a loss it ends with errc::lease_lost if the
     * holder has other Holds of the lost lease, because it cannot acquire the lock again while these exist.
     *
     *  @param work  `asio::awaitable<void>(Hold&)`, called once per lease
     *  @par Completion signature  void(std::exception_ptr)
     */
    template <class Work, class CompletionToken = asio::deferred_t>
    auto async_run(Holder const& holder, Work&& work, AcquireOptions options, CompletionToken&& completion = {}) const
    {
        constexpr bool is_work = detail::is_work_without_result<Work, Hold>();
        static_assert(
            is_work,
            "async_run: the work must be callable with the Hold& and return boost::asio::awaitable<void>, as a "
            "coroutine does");
        options.wait = options.wait.value_or(forever);
        if constexpr (is_work)
            return asio::async_initiate<CompletionToken, void(std::exception_ptr)>(
                detail::InitiateRunHeld{get_executor()}, completion,
                detail::OnBehalf<ReentrantLock, Holder>{*this, holder}, options, std::forward<Work>(work));
        else
            return asio::async_initiate<CompletionToken, void(std::exception_ptr)>(
                detail::InitiateNothing{}, completion);
    }
    /** Overload with default options: it waits `forever`. */
    template <class Work, class CompletionToken = asio::deferred_t>
        requires detail::is_completion_token<CompletionToken>
    auto async_run(Holder const& holder, Work&& work, CompletionToken&& completion = {}) const
    {
        return async_run(holder, std::forward<Work>(work), AcquireOptions{}, std::forward<CompletionToken>(completion));
    }

private:
    template <class Result>
    struct Initiate {
        Lock lock;
        Holder holder;
        using executor_type = asio::any_io_executor;
        [[nodiscard]] executor_type get_executor() const noexcept { return lock.get_executor(); }
        template <class Handler>
        void operator()(Handler&& handler, AcquireOptions const& options) const
        {
            constexpr bool is_try = !std::is_same_v<Result, Hold>;
            start(
                lock, holder, options, is_try,
                detail::AcquireHandler<Result, std::decay_t<Handler>>(std::forward<Handler>(handler)));
        }
    };
    static void start(
        Lock const& lock, Holder const& holder, AcquireOptions const& options, bool is_try,
        asio::any_completion_handler<void(error_code, Hold)> handler);

    Lock lock_;
};

} // namespace tenure
