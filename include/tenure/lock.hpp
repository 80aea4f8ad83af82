// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/lease.hpp>
#include <tenure/options.hpp>
#include <tenure/store.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
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

/** One lock: which key, and how its leases are held. */
struct LockConfig {
    /// name of the key in the store: 1 byte to 1 KiB, no NUL or line breaks, braces only as one clean hash tag
    std::string key;
    /// how long the store keeps a claim that nobody renews; 100 ms (some stores: more) to 24 h
    std::chrono::milliseconds ttl{10'000};
    LeaseOptions lease = {};
    /// a word for people, which `tenure status` shows beside the holder: a contact, a role, a build. Printable ASCII,
    /// at most 128 bytes; not secret. Empty: none
    std::string note = {};
};

/** Mutual exclusion on one key, among all processes that use the same store.
 *
 *  @par Thread safety  Distinct and shared objects: safe.
 *  @par Object lifetime  May be destroyed while operations are under way and leases are held; both go on.
 */
class Lock
{
public:
    using executor_type = asio::any_io_executor;

    /** @throws std::invalid_argument naming field, value and rule, before any I/O */
    Lock(Store store, LockConfig config);

    [[nodiscard]] executor_type get_executor() const noexcept;
    [[nodiscard]] std::string const& key() const noexcept;

    /** Acquires the lock, waiting while somebody else holds it.
     *
     *  On success the lease is valid and owned by the caller; on error nothing is owned.
     *
     *  @param options  wait: how long to wait, 0 tries once, default 30 s; ttl: of this lease, 0 for the lock's
     *  @par Completion signature  void(error_code, Lease)
     *  @par Errors  errc::timed_out: held by others until the wait ended; errc::store_unavailable, errc::store_refused,
     *               errc::authentication_failed, errc::permission_denied, errc::wrong_database, errc::wrong_server,
     *               errc::tls_failed, errc::protocol_error: the store, see `Store::diagnostics`; errc::foreign_key: the
     * key can never free by itself; errc::ttl_too_short: round trips leave nothing of the ttl;
     *               errc::not_replicated: too few replicas acknowledged it, where the config asks for them;
     * errc::forked; asio::error::operation_aborted: cancelled by the caller; std::errc::invalid_argument: an option
     *  @par Per-operation cancellation  terminal, partial, total: stops waiting at any point; a grant that arrives
     * later is released in the background, and lapses after the ttl if that fails
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_acquire(AcquireOptions const& options = {}, CompletionToken&& token = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, Lease)>(
            InitiateAcquire{contest_, false}, token, options);
    }
    template <class CompletionToken>
        requires(!std::is_convertible_v<CompletionToken, AcquireOptions const&>)
    auto async_acquire(CompletionToken&& token) const
    {
        return async_acquire(AcquireOptions{}, std::forward<CompletionToken>(token));
    }

    /** Tries once, without waiting for others. Completes with an empty lease, and no error, if somebody else holds the
     * lock.
     *
     *  @par Completion signature  void(error_code, Lease)
     *  @par Errors  as `async_acquire`, without errc::timed_out
     *  @par Per-operation cancellation  as `async_acquire`
     */
    template <class CompletionToken = asio::deferred_t>
    auto async_try_acquire(CompletionToken&& token = {}) const
    {
        return asio::async_initiate<CompletionToken, void(error_code, Lease)>(
            InitiateAcquire{contest_, true}, token, AcquireOptions{std::chrono::milliseconds{0}});
    }

private:
    using ContestPtr = std::shared_ptr<engine::Contest>;
    using AcquireHandler = detail::UserHandler<void(error_code, Lease)>;

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
