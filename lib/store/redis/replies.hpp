// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Readers of what the scripts answer (see scripts.hpp). Each takes any reply, and answers nothing to one that no script
// gives.
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

/** The answers of the claiming scripts (see scripts.hpp), for one page of a range. */
struct PageGrant {
    /// counted from 0 within the page
    std::uint32_t index = 0;
    /// 0: none was asked for
    std::uint64_t token = 0;
};
struct PageHeld {
    /// unset: not asked for, or none expires
    std::optional<std::chrono::milliseconds> earliest_expiry;
    /// keys without ttl; unset: not asked for
    std::optional<std::uint32_t> foreign;
    /// why this store has no place in the line; empty: it has one, or wanted none
    std::string line_error;
};
/** What several owners got of one page. */
struct SharedPage {
    /// of all grants; 0: none was asked for
    std::uint64_t token = 0;
    /// of the keys, rising, counted from 0 within the page: the first is the first owner's
    std::vector<std::uint32_t> granted;
    /// set where the owners were more than the free keys
    std::optional<PageHeld> held;
};
/** No claims before that: the server process is new, and may not know of leases that are still valid. */
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

/** A fencing token as text; unset unless it is a number from 1 up. */
[[nodiscard]] std::optional<std::uint64_t> read_token(resp::Value const& text);

/** The server's clock since 1970, from the reply to TIME. */
[[nodiscard]] std::optional<std::chrono::microseconds> read_server_time(resp::Value const& reply);

/** No ttl that leases use comes near a year; it keeps the arithmetic with instants in range. */
[[nodiscard]] std::chrono::milliseconds at_most_a_year(std::int64_t ms) noexcept;

/** Reads the answer of the script that renews: for each of the keys '1' if it bore its owner, else '0'. A view of the
 * reply; unset if it is malformed. */
[[nodiscard]] std::optional<std::string_view> read_renewed_flags(resp::Value const& reply, std::size_t keys);

/** What the scripts that release add to their replies (see scripts.hpp); views of the reply. */
struct ReleaseNotes {
    bool publish_refused = false;
    /// the server's words; empty: the line was not refused
    std::string_view line_refusal;
};

struct ReleaseFlags {
    /// for each key '0', '1' or '2'
    std::string_view keys;
    ReleaseNotes notes;
};
/** Reads the answer for `keys` keys; unset if it is malformed. */
[[nodiscard]] std::optional<ReleaseFlags> read_release_flags(resp::Value const& reply, std::size_t keys);

struct WithdrawnKeys {
    std::uint32_t count = 0;
    ReleaseNotes notes;
};
/** Reads the answer to a withdrawal; unset if it is malformed. */
[[nodiscard]] std::optional<WithdrawnKeys> read_withdrawn_keys(resp::Value const& reply);

/** Reads the inspecting script's answer (see scripts.hpp) about the next `count` keys and appends a state for each.
 * False, and nothing appended, if it is malformed. */
[[nodiscard]] bool read_key_states(resp::Value const& reply, std::uint32_t count, std::vector<KeyState>& states);

} // namespace tenure::redis
