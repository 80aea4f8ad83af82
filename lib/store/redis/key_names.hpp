// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/key_range.hpp>

#include <string>
#include <string_view>

namespace tenure::redis
{

/** True if a cluster hashes only a part of the key: the first `{...}` with something inside. */
[[nodiscard]] bool has_hash_tag(std::string_view key) noexcept;

/** What surrounds a key of the range in the name of its fence key, which several servers that grant together have for
 * each key. Scripts put the name together from the key. */
struct FenceAffixes {
    std::string_view before;
    std::string_view after;
};
[[nodiscard]] FenceAffixes fence_affixes(KeyRange const& range) noexcept;

/** The key of the last fencing token that several servers together have granted for `key`, in the same hash slot:
 * `{key}:fence`, or `key:fence` where the key has a hash tag. */
[[nodiscard]] std::string fence_key(std::string_view key);

/** What the names beside a range begin with: `{P}` for the prefix or lock P, or `P` where it has a hash tag. Scripts
 * that need several of these names get this, and put `:free`, `:waiting` and `:watched` behind it. */
[[nodiscard]] std::string stem_of(KeyRange const& range);

/** The channel on which releases in the range are announced: `{P}:free` for the prefix or lock P, or `P:free` where it
 * has a hash tag. A lock's channel shares the hash slot of its key; so does a pool's where the prefix has a hash tag.
 */
[[nodiscard]] std::string channel_of(KeyRange const& range);

/** The list of waiters of the range, in the hash slot of its channel: `{P}:waiting`, or `P:waiting`. */
[[nodiscard]] std::string line_of(KeyRange const& range);

/** The key that says that observers watch the range, in the hash slot of its channel: `{P}:watched`, or `P:watched`. */
[[nodiscard]] std::string watched_key_of(KeyRange const& range);

/** The counter of fencing tokens of one database. In a cluster each hash slot has one, with the slot's number in braces
 * behind. */
inline constexpr std::string_view fence_counter = "tenure:fence";

} // namespace tenure::redis
