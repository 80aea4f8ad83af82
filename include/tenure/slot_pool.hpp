// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/pool_run.hpp>
#include <tenure/options.hpp>
#include <tenure/slot.hpp>
#include <tenure/store.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace tenure
{

namespace engine
{
class Contest;
}

/** One pool: the keys `prefix + 0` .. `prefix + (size - 1)`, and how its slots are held. */
struct SlotPoolConfig {
    /// 1 byte to 1 KiB, no NUL or line breaks, braces only as one clean hash tag
    std::string prefix = "thread_id_lock:";
    /// how many slots there are; 1 to 2^20
    std::uint32_t size = 1;
    /// how long the store keeps a claim that nobody renews; 100 ms (some stores: more) to 24 h
    std::chrono::milliseconds ttl{10'000};
    LeaseOptions lease = {};
    /// quarantine: how long a number that was handed out stays taken after its release, or after the ttl of a holder
    /// that died. 0 (none) to 24 h; with etcd in whole seconds, rounded up, at least its shortest lease; refused with
    /// ZooKeeper. A claim that is given back before anyone held it frees at once. For worker IDs: longer than the
    /// clocks of two holders may differ
    std::chrono::milliseconds reuse_after{0};
    /// a word for people, which `tenure status` shows beside the holder: a contact, a role, a build. Printable ASCII,
    /// at most 128 bytes; not secret. Empty: none
    std::string note = {};
};

/** A pool of numbered slots, shared by all processes that use the same store: each live slot has a number that no other
 * has.
 *
 *  An acquisition gets the lowest number that is free. Pools of different size over one prefix work together: a number
 * is one key. How long it rests after its use, its last holder's pool decides (`SlotPoolConfig::reuse_after`).
 *
 *  @par Thread safety  Distinct and shared objects: safe.
 *  @par Object lifetime  May be destroyed while operations are under way and slots are held; both go on.
 */
class SlotPool
{
public:
    using executor_type = asio::any_io_executor;
    using slot_type = Slot;

    /** @throws std::invalid_argument naming field, value and rule, before any I/O */
    SlotPool(Store store, SlotPoolConfig config);

    [[nodiscard]] executor_type get_executor() const noexcept;
    [[nodiscard]] std::string const& prefix() const noexcept;
    [[nodiscard]] std::uint32_t size() const noexcept;

    /** The keys of this pool, for `Store::async_inspect`. */
    [[nodiscard]] KeyRangePtr range() const noexcept;

    /** Acquires the first free slot, waiting while all are held.
     *
     *  On success the slot is valid and owned by the caller; on error nothing is owned.
     *
     *  @param options  wait: how long to wait, 0 tries once, default 30 s; ttl: of this slot, 0 for the pool's
     *  @par Completion signature  void(error_code, Slot)
     *  @par Errors  as `Lock::async_acquire`
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting at any point; a grant that arrives
     * later is released in the background, and lapses after the ttl if that fails
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_acquire(AcquireOptions const& options = {}, CompletionToken&& token = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, Slot)>(
            InitiateAcquire{contest_, false}, token, options);
    }
    template <class CompletionToken>
        requires(!std::is_convertible_v<CompletionToken, AcquireOptions const&>)
    auto async_acquire(CompletionToken&& token) const
    {
        return async_acquire(AcquireOptions{}, std::forward<CompletionToken>(token));
    }

    /** Tries once, without waiting for others. Completes with an empty slot, and no error, if all are held.
     *
     *  @par Completion signature  void(error_code, Slot)
     *  @par Errors  as `async_acquire`, without errc::timed_out
     *  @par Per-operation cancellation  as `async_acquire`
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_try_acquire(CompletionToken&& token = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, Slot)>(
            InitiateAcquire{contest_, true}, token, AcquireOptions{std::chrono::milliseconds{0}});
    }

    /** Holds a slot around the work: acquires one (waiting without end unless `options` say otherwise), calls
     * `work(slot)`, and when the slot is lost, cancels the work, waits for it to wind down and starts again with
     * another slot. Ends when the work ends by itself.
     *
     *  @param work  `asio::awaitable<void>(Slot&)`, called once per slot; see `with_lease` about lambdas and g++ 12
     *  @par Completion signature  void(std::exception_ptr)
     *  @par Errors  boost::system::system_error with what `async_acquire` fails with; the work's own exceptions
     *  @par Per-operation cancellation  passed on to the work, whose release is still waited for, or stops waiting for
     * a slot; one that is granted at that moment is released in the background
     */
    template <class Work, class CompletionToken = asio::deferred_t>
    auto async_run(Work&& work, AcquireOptions const& options, CompletionToken&& token = {}) const
    {
        constexpr bool is_work = detail::is_work_without_result<Work, Slot>();
        static_assert(
            is_work,
            "async_run: the work must be callable with the Slot& and return boost::asio::awaitable<void>, as a "
            "coroutine does");
        if constexpr (is_work)
            return asio::async_initiate<CompletionToken, void(std::exception_ptr)>(
                detail::InitiatePoolRun{get_executor()}, token, *this, options, std::forward<Work>(work));
        else
            return asio::async_initiate<CompletionToken, void(std::exception_ptr)>(detail::InitiateNothing{}, token);
    }
    template <class Work, class CompletionToken = asio::deferred_t>
        requires(!std::is_convertible_v<CompletionToken, AcquireOptions const&>)
    auto async_run(Work&& work, CompletionToken&& token = {}) const
    {
        return async_run(
            std::forward<Work>(work), AcquireOptions{std::chrono::milliseconds::max()},
            std::forward<CompletionToken>(token));
    }

private:
    using ContestPtr = std::shared_ptr<engine::Contest>;
    using AcquireHandler = detail::UserHandler<void(error_code, Slot)>;

    struct InitiateAcquire {
        ContestPtr contest;
        bool only_try;
        using executor_type = asio::any_io_executor;
        [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(contest); }
        template <class Handler>
        void operator()(Handler&& handler, AcquireOptions const& options) const
        {
            start_acquire(contest, options, only_try, {std::forward<Handler>(handler), executor_of(contest)});
        }
    };
    /** Asked for when it is needed: an executor costs a call each time it is moved. */
    [[nodiscard]] static asio::any_io_executor const& executor_of(ContestPtr const& contest) noexcept;
    static void
    start_acquire(ContestPtr const& contest, AcquireOptions const& options, bool only_try, AcquireHandler handler);

    ContestPtr contest_;
};

} // namespace tenure
