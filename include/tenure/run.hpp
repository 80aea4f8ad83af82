// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/initiate.hpp>
#include <tenure/detail/run_held.hpp>
#include <tenure/options.hpp>
#include <tenure/with_lease.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <exception>
#include <utility>

namespace tenure
{

/** Holds a lease around the work: acquires one, calls `work(lease)`, and when the lease is lost, cancels the work,
 * waits for it to finish and starts again with another lease. Ends when the work ends by itself, also after it has
 * released its lease.
 *
 *  The work runs on a strand over the handler's executor, as under `async_with_lease`. The reference that it gets is
 *  valid until it ends: spawn the sessions of a server, and whatever else may go on afterwards, in a `TaskGroup`.
 *
 *  @param lock  a `Lock`, `SlotPool`, `MultiLock`, `Election` or `ReentrantLock::for_holder`; copied
 *  @param work  `asio::awaitable<void>(lease_type&)`, also with a `TaskGroup&` after it, or a function that returns
 * another deferred operation; called once per lease. See `async_with_lease` about lambdas and g++ 12
 *  @param options  as for `async_acquire`, for each acquisition; the default of wait is `forever`
 *  @par Completion signature  void(std::exception_ptr)
 *  @par Errors  `tenure::error` with the errors of `async_acquire` and their details; the work's own exceptions. With a
 *    `ReentrantLock` also errc::lease_lost after a loss if the holder has other leases on the key, because it cannot
 *    acquire the lock again while these exist
 *  @par Per-operation cancellation  while it waits for a lease, terminal, partial, total: ends the run, and a lease
 * that is granted at that moment is released in the background. While the work runs, every type is passed on to the
 * work, and the release still completes; after terminal and partial no further lease is acquired. total leaves the
 * choice to the work, because the work has side effects
 */
template <class Kind, class Work, class Options = AcquireOptions, class CompletionToken = boost::asio::deferred_t>
    requires detail::AcquireArgument<Options>
[[nodiscard]] auto async_run(Kind const& lock, Work&& work, Options options = {}, CompletionToken&& completion = {})
{
    constexpr bool is_work = detail::is_work_without_result<Work, typename Kind::lease_type>();
    static_assert(
        is_work, "async_run: the work must be callable with the lease, for example with a Lease& or Slot&, and return "
                 "boost::asio::awaitable<void>, as a coroutine does, or another deferred operation without a result");
    if constexpr (is_work)
        return detail::initiate<void(std::exception_ptr), detail::start_run, detail::executor_of_run>(
            lock, std::forward<CompletionToken>(completion),
            detail::with_default_wait(detail::acquire_options(options), forever), std::forward<Work>(work));
    else
        return detail::initiate_nothing<void(std::exception_ptr)>();
}
/** Overload with default options: it waits `forever` for each lease. */
template <class Kind, class Work, class CompletionToken>
    requires(!detail::AcquireArgument<CompletionToken>)
[[nodiscard]] auto async_run(Kind const& lock, Work&& work, CompletionToken&& completion)
{
    return async_run(lock, std::forward<Work>(work), AcquireOptions{}, std::forward<CompletionToken>(completion));
}

} // namespace tenure
