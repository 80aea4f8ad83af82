// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>

#include <string_view>
#include <type_traits>

namespace tenure
{

using boost::system::error_code;

/** Why an operation failed. `asio::error::operation_aborted` is used only for the caller's own cancellation. */
enum class errc {
    /// all keys of the range were held by others until the wait ended
    timed_out = 1,
    /// the store could not be reached, or did not answer, until the wait ended
    store_unavailable,
    /// the store answered with an error until the wait ended; `Store::diagnostics()` has its message
    store_refused,
    /// the store rejected user or password
    authentication_failed,
    /// the store's user lacks a permission that leases need; `Store::diagnostics()` names it
    permission_denied,
    /// the database number does not exist or may not be used
    wrong_database,
    /// the server is not of the kind the URL names (a cluster node, a replica, too old)
    wrong_server,
    /// TLS could not be set up: certificate, host name or a server that does not speak TLS
    tls_failed,
    /// the server violated the protocol; the connection was closed
    protocol_error,
    /// every key is held by another program's value that never expires: tenure neither waits for it nor deletes it.
    /// Of an eviction: the key is no lease
    key_conflict,
    /// the round trip to the store uses up the ttl
    ttl_too_short,
    /// the lease was lost: its token was cancelled for a reason that is a loss (`is_loss`)
    lease_lost,
    /// the lease was released or detached before, or the object holds no lease
    released,
    /// the store is closed, or being closed (`Store::async_close`)
    closed,
    /// this process is a fork of the process that connected: it must open its own store
    forked,
    /// fewer replicas than the store's config asks for acknowledged the claim in time, until the wait ended
    not_replicated,
    /// a `Holder` that checks its order tried to acquire a key below one that it holds; `Store::diagnostics()` names
    /// both
    out_of_order,
    /// a `Holder` tried to acquire a key that it holds, and would have waited for itself: it asks to write while it
    /// reads, or it checks its order, and one of the two acquisitions is by a `Lock`
    would_deadlock
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(errc value) noexcept;

/** Groups of errors by the caller's reaction: `if (ec == tenure::condition::try_later)`. */
enum class condition {
    /// another holder has the key: timed_out
    busy = 1,
    /// the same call may succeed later without any intervention: timed_out, store_unavailable, store_refused,
    /// protocol_error, not_replicated
    try_later,
    /// a person has to change configuration or code: authentication, permission, database, kind of server, TLS, key
    /// conflict, ttl, order of a holder's acquisitions
    misconfigured
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(condition value) noexcept;

/** The category of `errc`; its messages say what to do. */
[[nodiscard]] TENURE_API boost::system::error_category const& tenure_category() noexcept;
/** The category of `condition`. */
[[nodiscard]] TENURE_API boost::system::error_category const& condition_category() noexcept;
/** Lets an `errc` become an error_code. */
[[nodiscard]] TENURE_API error_code make_error_code(errc value) noexcept;
/** Lets an error_code be compared with a `condition`. */
[[nodiscard]] TENURE_API boost::system::error_condition make_error_condition(condition value) noexcept;

} // namespace tenure

namespace boost::system
{
template <>
struct is_error_code_enum<tenure::errc> : std::true_type {
};
template <>
struct is_error_condition_enum<tenure::condition> : std::true_type {
};
} // namespace boost::system
