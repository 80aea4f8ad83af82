// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The schema, and the meaning of errors: of the server's codes, and of failed attempts to connect.
#pragma once

#include "runtime/names.hpp"
#include "store/postgresql/link/connection.hpp"

#include <tenure/backend/backend.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tenure::postgresql
{

/// the version of table and functions that this library speaks
inline constexpr int protocol = 1;

/** The statement with `schema.` for each `tenure.` */
[[nodiscard]] std::string in_schema(std::string_view sql, std::string_view schema);

/// prepared by each session that no pooler shares
inline constexpr std::string_view claim_sql = "SELECT * FROM tenure.claim($1, $2, $3, $4, $5, $6, $7)";
inline constexpr std::string_view renew_sql = "SELECT tenure.renew($1, $2, $3)";
inline constexpr std::string_view release_sql = "SELECT tenure.release($1, $2, $3, $4)";
inline constexpr std::string_view announce_sql = "SELECT tenure.announce($1)";

/// the session has lost its prepared statements
inline constexpr std::string_view not_prepared_code = "26000";
/// the server became a standby, or is one
inline constexpr std::string_view read_only_code = "25006";

/** True if an error with this code proves that nothing was changed. */
[[nodiscard]] bool is_refusal(std::string_view code) noexcept;

/** The failure of a request whose transaction the server refused.
 *  @param where  the store */
[[nodiscard]] Failure failure_of(ServerError const& error, std::string const& where);

/** The error of an attempt to connect, from the verbose message of libpq. */
[[nodiscard]] net::StreamError connect_failure(std::string const& message, bool needs_password);

/** Why a session of which this is the first answer cannot be used; nullopt: it can. */
[[nodiscard]] std::optional<net::StreamError>
greeting_failure(TransactionReply const& reply, std::string const& schema);

} // namespace tenure::postgresql
