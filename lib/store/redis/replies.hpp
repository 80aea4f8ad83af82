// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Parsers for replies of the scripts (see scripts.hpp). Each accepts any input and returns nullopt for a malformed
// reply.
#pragma once

#include "store/redis/wire/value.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tenure::redis
{

/** Answers of the claiming scripts (see scripts.hpp) for one page of a range. */
struct PageGrant {
    /// counted from 0 within the page
    std::uint32_t index = 0;
    /// 0: no token was requested
    std::uint64_t token = 0;
};
struct PageHeld {
    /// unset: not requested, or no key expires
    std::optional<std::chrono::milliseconds> earliest_expiry;
    /// keys without ttl; unset: not requested
    std::optional<std::uint32_t> foreign;
    /// why this store has no place in the line; empty: it has one, or requested none
    std::string line_error;
};
/** The keys of one page that several owners got. */
struct SharedPage {
    /// of all grants; 0: no token was requested
    std::uint64_t token = 0;
    /// indexes of the keys within the page, ascending, from 0: the first is the first owner's
    std::vector<std::uint32_t> granted;
    /// set if there were fewer free keys than owners
    std::optional<PageHeld> held;
};
/** Claims are refused before this time: the server process is new, and may not know all valid leases. */
struct PageClosed {
    std::chrono::milliseconds opens_in{};
};
using PageReply = std::variant<PageGrant, PageHeld, PageClosed>;

using SharedPageReply = std::variant<SharedPage, PageClosed>;

/** Reads the answer about a page of `keys` keys; unset if it is malformed. */
[[nodiscard]] std::optional<PageReply> read_page_reply(resp::Value const& reply, std::uint32_t keys, bool fencing);

/** Reads the answer to several owners. */
[[nodiscard]] std::optional<SharedPageReply>
read_shared_page_reply(resp::Value const& reply, std::uint32_t keys, std::size_t owners, bool fencing);

/** Parses a fencing token; nullopt unless it is a number from 1 up. */
[[nodiscard]] std::optional<std::uint64_t> read_token(resp::Value const& text);

/** Reads the server's time since 1970 from the reply to TIME. */
[[nodiscard]] std::optional<std::chrono::microseconds> read_server_time(resp::Value const& reply);

/** Limits a duration to a year, which no ttl of a lease comes near, so that arithmetic with instants does not
 *  overflow. */
[[nodiscard]] std::chrono::milliseconds at_most_a_year(std::int64_t ms) noexcept;

/** Reads the answer of the renewing script: '1' for each key that had its owner, else '0'. Returns a view of the
 *  reply; nullopt if it is malformed. */
[[nodiscard]] std::optional<std::string_view> read_renewed_flags(resp::Value const& reply, std::size_t keys);

/** Reads the inspecting script's answer (see scripts.hpp) about the next `count` keys and appends a state for each.
 *  Returns false and appends nothing if it is malformed. */
[[nodiscard]] bool read_key_states(resp::Value const& reply, std::uint32_t count, std::vector<KeyState>& states);

} // namespace tenure::redis
