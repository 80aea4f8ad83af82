// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/initiate.hpp>
#include <tenure/detail/leased_work.hpp>
#include <tenure/lease_like.hpp>
#include <tenure/task_group.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <exception>
#include <utility>

namespace tenure
{

/** Runs work under a lease: calls `work(lease)`, cancels the coroutine (terminal) when the lease is lost, waits for it
 * to finish, releases the lease, and completes with the result of the work.
 *
 *  The work runs on a strand over the handler's executor; the reference that it gets is valid until it ends. Do not
 * pass it to coroutines that may go on afterwards, such as the sessions of a server: let the work take a `TaskGroup&`
 * after the lease, and spawn them there.
 *
 *  @param lease  a `Lease` or `Slot`, or another `LeaseLike`
 *  @param work  `asio::awaitable<T>(Lease&)` or `(Slot&)`, also with a `TaskGroup&` after it, or a function that
 * returns another deferred operation, whose result under `asio::use_awaitable` is T. g++ 12 destroys a lambda temporary
 * that captures by value twice inside a co_await expression: name the lambda first, or capture by reference
 *  @par Completion signature  void(std::exception_ptr, T), or void(std::exception_ptr) where T is void
 *  @par Errors  `tenure::error`, a boost::system::system_error, with errc::lease_lost: the lease was lost (the work may
 * have noticed that and returned normally); with errc::released: the lease is empty or its release has begun, and the
 * work was not called; any other exception is the work's own
 *  @par Per-operation cancellation  terminal, partial, total: passed on to the work, which decides, because it may have
 * side effects; the release still completes
 */
template <LeaseLike LeaseType, class Work, class CompletionToken = boost::asio::deferred_t>
[[nodiscard]] auto async_with_lease(LeaseType lease, Work&& work, CompletionToken&& completion = {})
{
    constexpr bool is_work = detail::is_work<Work, LeaseType>();
    static_assert(
        is_work,
        "async_with_lease: the work must be callable with the lease, for example with a Lease& or Slot&, and return "
        "boost::asio::awaitable<T>, as a coroutine does, or another deferred operation");
    if constexpr (is_work) {
        using Signature = typename detail::WorkSignature<detail::WorkResult<Work, LeaseType>>::type;
        auto const executor = boost::asio::any_io_executor(lease.get_executor());
        return detail::initiate<Signature, detail::start_with_lease, detail::executor_itself>(
            executor, std::forward<CompletionToken>(completion), std::move(lease), std::forward<Work>(work));
    } else {
        return detail::initiate_nothing<void(std::exception_ptr)>();
    }
}

} // namespace tenure
