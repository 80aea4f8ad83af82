// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "answer.hpp"

#include <tenure/backend/backend.hpp>

#include <string>
#include <utility>
#include <variant>

namespace tenure::zookeeper
{

/** Why something came to nothing. */
using Failure = std::variant<Refused, NotSent, Unknown>;

/** What an error code means for leases, in words for a person.
 *  @param where  the store, without secrets  @param what  the key or range  @param login  its user, empty if none */
[[nodiscard]] Failure
failure_of(Answer const& answer, std::string const& where, std::string const& what, std::string const& login);

/** The same where all that was asked was to look: nothing was written, so nothing is unknown. */
[[nodiscard]] Failure not_written(Failure failure);

/** The session is over for the server: nothing asked in its name can succeed any more. */
[[nodiscard]] bool ends_session(int code) noexcept;

/** The server has answered, with success or not: what was asked is decided. */
[[nodiscard]] bool is_answered(int code) noexcept;

/** As the reply of whatever was asked. */
template <class Reply>
[[nodiscard]] Reply reply_of(Failure failure)
{
    return std::visit([](auto& kind) -> Reply { return std::move(kind); }, failure);
}

} // namespace tenure::zookeeper
