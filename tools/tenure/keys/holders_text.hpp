// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/key_range.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

/** A short text about the holders of a range and the durations. Of a lock: `held by w1 for 4.2 s`. Of a pool: `16 of
 * 16 held: slot 3 by w1 for 2 min 10 s, slot 0 by w2 for 4.2 s, slot 1 by w3 for 20 ms, ... 13 more`, the longest-held
 * slots first. */
[[nodiscard]] std::string describe_holders(KeyRange const& range, std::vector<KeyState> const& states);

/** The same of several locks: `b held by w1 for 4.2 s, c kept, frees in 3.0 s`, without the locks that are free, and
 * without those that the worker of this name holds, which is the caller.
 *  @param locks  one key each
 *  @param states  as many */
[[nodiscard]] std::string
describe_holders(std::vector<KeyRangePtr> const& locks, std::vector<KeyState> const& states, std::string_view own_name);

/** A text about the state of a lost key: `job:0 was evicted by admin`. */
[[nodiscard]] std::string describe_loss(std::string const& key, KeyState const& state);

} // namespace tenure::tool
