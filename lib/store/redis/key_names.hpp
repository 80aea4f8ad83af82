// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/key_range.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** True if a cluster hashes only a part of the key: the first non-empty `{...}`. */
[[nodiscard]] bool has_hash_tag(std::string_view key) noexcept;

/** Makes a range of the one key at `index`, with the channel of the whole range. */
[[nodiscard]] KeyRangePtr single_key(KeyRangePtr const& range, std::uint32_t index);

/** Name of the key with the last fencing token that a majority has granted for `key`, in the same hash slot:
 *  `{key}:fence`, or `key:fence` if the key has a hash tag. */
[[nodiscard]] std::string fence_key(std::string_view key);

/** Common prefix of the names that belong to a range: `{P}` for the prefix or lock P, or `P` if it has a hash tag. */
[[nodiscard]] std::string stem_of(KeyRange const& range);

/** Channel on which releases in the range are published: `{P}:free` for the prefix or lock P, or `P:free` if it has a
 *  hash tag. The channel of a lock shares the hash slot of its key, and so does the channel of a pool whose prefix has
 *  a hash tag. */
[[nodiscard]] std::string channel_of(KeyRange const& range);

/** The list of waiters of the range, in the hash slot of its channel: `{P}:waiting`, or `P:waiting`. */
[[nodiscard]] std::string line_of(KeyRange const& range);

/** The key that exists while observers watch the range, in the hash slot of its channel: `{P}:watched`, or
 *  `P:watched`. */
[[nodiscard]] std::string watched_key_of(KeyRange const& range);

/** Names that Redisson gives to what belongs to a lock: `<what>:{K}`, or `<what>:K` if K has a hash tag. */
namespace redisson
{
/** The channel of releases. */
[[nodiscard]] std::string channel_of(KeyRange const& range);
/** The counter of the fencing tokens of an RFencedLock. */
[[nodiscard]] std::string token_key(KeyRange const& range);
} // namespace redisson

/** The counter of fencing tokens of one database. In a cluster each hash slot has one, with the slot's number in
 *  braces appended. */
inline constexpr std::string_view fence_counter = "tenure:fence";

} // namespace tenure::redis
