// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/wire/value.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

/** Reads the answer about a page of `keys` keys; unset if it makes no sense. */
[[nodiscard]] std::optional<PageReply> read_page_reply(resp::Value const& reply, std::uint32_t keys, bool fencing);

/** Reads the answer to several owners. */
[[nodiscard]] std::optional<SharedPageReply>
read_shared_page_reply(resp::Value const& reply, std::uint32_t keys, std::size_t owners, bool fencing);

/** A fencing token as text; unset unless it is a number from 1 up. */
[[nodiscard]] std::optional<std::uint64_t> read_token(resp::Value const& text);

} // namespace tenure::redis
