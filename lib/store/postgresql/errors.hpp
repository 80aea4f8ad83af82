// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The meaning of errors: of the server's codes, and of failed attempts to connect.
#pragma once

#include "runtime/names.hpp"
#include "store/postgresql/link/transaction.hpp"

#include <net/stream.hpp>
#include <tenure/backend/backend.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tenure::postgresql
{

/** True if an error with this code proves that nothing was changed. */
[[nodiscard]] bool is_refusal(std::string_view code) noexcept;

/** True if the server became a standby, or is one. */
[[nodiscard]] bool is_read_only(std::string_view code) noexcept;

/** The failure of a request whose transaction the server refused.
 *  @param where  the store, and what the request was about */
[[nodiscard]] Failure failure_of(ServerError const& error, std::string const& where);

/** The error of an attempt to connect, from the verbose message of libpq. */
[[nodiscard]] net::StreamError connect_failure(std::string const& message, bool needs_password);

/** Why a session of which this is the first answer cannot be used; nullopt: it can. */
[[nodiscard]] std::optional<net::StreamError>
greeting_failure(TransactionReply const& reply, std::string const& schema);

} // namespace tenure::postgresql
