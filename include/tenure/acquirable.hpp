// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/initiate.hpp>
#include <tenure/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/system/error_code.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace tenure
{

/** The operations that acquire, for every kind of lock.
 *
 *  @tparam Kind  `Lock`, `SlotPool`, `Semaphore`, `MultiLock`, `ReentrantLock` or `Holder`
 *  @tparam LeaseType  the result of an acquisition
 *  @tparam First  arguments before the options: the `Holder` of a `ReentrantLock`, the `Lock` of a `Holder`
 */
template <class Kind, class LeaseType, class... First>
class Acquirable
{
public:
    /// the type of `get_executor()`
    using executor_type = boost::asio::any_io_executor;
    /// the result of an acquisition
    using lease_type = LeaseType;

    /** Acquires the lock, or the first free slot, and waits while others hold it.
     *
     *  On success the lease is valid and owned by the caller; on error nothing is owned.
     *
     *  @param options  `AcquireOptions`, or only a wait: `co_await lock.async_acquire(5s)`. The default of wait is 30
     * s. An attempt without a reply ends after the ttl, or after 2 s if the ttl is longer
     *  @par Completion signature  void(error_code, lease_type)
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
    template <class Options = AcquireOptions, class CompletionToken = boost::asio::deferred_t>
        requires detail::AcquireArgument<Options>
    [[nodiscard]] auto
    async_acquire(First const&... first, Options options = {}, CompletionToken&& completion = {}) const
    {
        return begin<LeaseType>(std::forward<CompletionToken>(completion), detail::acquire_options(options), first...);
    }
    /** Overload with default options. */
    template <class CompletionToken>
        requires(!detail::AcquireArgument<CompletionToken>)
    [[nodiscard]] auto async_acquire(First const&... first, CompletionToken&& completion) const
    {
        return begin<LeaseType>(std::forward<CompletionToken>(completion), AcquireOptions{}, first...);
    }

    /** Tries once, as `async_acquire` with a wait of 0 does, and completes with `std::nullopt` and no error if others
     * hold it.
     *
     *  @param options  wait: unset or 0; the others as in `async_acquire`
     *  @par Completion signature  void(error_code, std::optional<lease_type>)
     *  @par Errors  as `async_acquire`, without errc::timed_out
     *  @par Per-operation cancellation  as `async_acquire`
     */
    template <class CompletionToken = boost::asio::deferred_t>
    [[nodiscard]] auto
    async_try_acquire(First const&... first, AcquireOptions options = {}, CompletionToken&& completion = {}) const
    {
        return begin<std::optional<LeaseType>>(std::forward<CompletionToken>(completion), options, first...);
    }
    /** Overload with default options. */
    template <class CompletionToken>
        requires(!detail::AcquireArgument<CompletionToken>)
    [[nodiscard]] auto async_try_acquire(First const&... first, CompletionToken&& completion) const
    {
        return begin<std::optional<LeaseType>>(std::forward<CompletionToken>(completion), AcquireOptions{}, first...);
    }

private:
    friend Kind;
    Acquirable() = default;

    template <class Result, class CompletionToken>
    auto begin(CompletionToken&& completion, AcquireOptions const& options, First const&... first) const
    {
        return detail::initiate<
            void(boost::system::error_code, Result), &Kind::template start<Result>, &Kind::executor_of>(
            static_cast<Kind const&>(*this).state_for(first...), std::forward<CompletionToken>(completion), options);
    }
};

} // namespace tenure
