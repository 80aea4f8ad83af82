// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/etcd/http/messages.hpp"

#include <tenure/key_range.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::etcd
{

/// keys of one read at most; larger ranges go page by page
inline constexpr std::size_t keys_per_page = 4096;
/// with their values, which may be anybody's
inline constexpr std::size_t keys_with_values = 256;
inline constexpr std::size_t bytes_with_values = std::size_t{2} * 1024 * 1024;

/** Where the keys of a range lie. There may be others between them: `prefix1x` lies where `prefix1` and `prefix2` do.
 */
[[nodiscard]] Keys whole(KeyRange const& range);

/** Which key of the range this is; unset: none. */
[[nodiscard]] std::optional<std::uint32_t> index_of(KeyRange const& range, std::string_view key);

/** The longest reply to a read of so many keys of about this length, without their values. */
[[nodiscard]] std::size_t reply_bytes(KeyRange const& range, std::size_t keys) noexcept;

/** The first key after this one. */
[[nodiscard]] inline std::string next_key(std::string key)
{
    key.push_back('\0');
    return key;
}

/** The keys that a page of `keys` has left out; unset: none. */
[[nodiscard]] inline std::optional<Keys> rest_of(Keys const& keys, RangeReply const& page)
{
    if (!page.more || page.found.empty())
        return std::nullopt;
    return Keys{next_key(page.found.back().key), keys.end};
}

} // namespace tenure::etcd
