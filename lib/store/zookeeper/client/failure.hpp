// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "answer.hpp"

#include <tenure/backend/backend.hpp>

#include <string>

namespace tenure::zookeeper
{

/** What an error code means for leases, in words for a person.
 *  @param where  the store, without secrets  @param what  the key or range  @param login  its user, empty if none */
[[nodiscard]] Failure
failure_of(Answer const& answer, std::string const& where, std::string const& what, std::string const& login);

/** The session is over for the server: nothing asked in its name can succeed any more. */
[[nodiscard]] bool ends_session(int code) noexcept;

/** The server has answered, with success or not: what was asked is decided. */
[[nodiscard]] bool is_answered(int code) noexcept;

} // namespace tenure::zookeeper
