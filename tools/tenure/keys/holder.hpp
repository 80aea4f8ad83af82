// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/style.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/key_range.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

/** The public data of a key's holder. The value under the key is what releases it: its random part never leaves the
 * program. */
struct Holder {
    enum class Kind {
        nobody,
        /// a worker of tenure
        worker,
        /// the key was force-released and becomes free when the old validity has ended
        evicted,
        /// released, and in quarantine, and free after that
        resting,
        /// its holder left it to expire, and it is free after that time
        kept,
        /// a value with a ttl that some other software wrote, of whatever type
        other_software,
        /// a value without ttl: no lease
        foreign
    };
    Kind kind = Kind::nobody;
    /// the worker, the evictor, or the last worker of a resting or kept key; else empty
    std::string name;
    /// of a worker; empty: none
    std::string note = {};
    /// when a worker made the claim, by its own wall clock; unset: its owner text does not say
    std::optional<std::chrono::sys_seconds> claimed_at = {};
};

[[nodiscard]] Holder holder_of(KeyState const& state);

/** For a person's eye. */
[[nodiscard]] std::string describe(Holder const& holder);

/** How a terminal shows the holder. */
[[nodiscard]] Style style_of(Holder const& holder) noexcept;

/** `free`, `held`, `evicted`, `resting`, `kept` or `foreign`. */
[[nodiscard]] std::string_view state_name(Holder const& holder) noexcept;

/** A short text about the holders of a range and the durations. Of a lock: `held by w1 for 4.2 s`. Of a pool: `16 of
 * 16 held: slot 3 by w1 for 2 min 10 s, slot 0 by w2 for 4.2 s, slot 1 by w3 for 20 ms, ... 13 more`, the longest-held
 * slots first. */
[[nodiscard]] std::string describe_holders(KeyRange const& range, std::vector<KeyState> const& states);

/** The same of several locks: `b held by w1 for 4.2 s, c kept, free in 3.0 s`, without the locks that are free, and
 * without those that the worker of this name holds, which is the caller.
 *  @param locks  one key each
 *  @param states  as many */
[[nodiscard]] std::string
describe_holders(std::vector<KeyRangePtr> const& locks, std::vector<KeyState> const& states, std::string_view own_name);

/** A text about the state of a lost key: `job:0 was evicted by admin`. */
[[nodiscard]] std::string describe_loss(std::string const& key, KeyState const& state);

} // namespace tenure::tool
