// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace tenure
{

/** The keys that one acquisition may take: `prefix + number` for each number of [first, first + count), or one named
 * key.
 *
 *  A lock is a range of one named key; a pool is a numbered range. The keys are computed, never stored as a list.
 */
struct TENURE_API KeyRange {
    /// the first part of all keys, or the whole key of a lock
    std::string prefix;
    /// the first number
    std::uint32_t first = 0;
    /// how many keys; 1 to 2^20
    std::uint32_t count = 1;
    /// false: the range is the one key `prefix` itself
    bool numbered = true;
    /// the key is held in places (`backend::Share`): that of a fair lock, a read-write lock or a semaphore
    bool shares = false;

    /** The key at `index`, counted from 0 within the range. */
    [[nodiscard]] std::string key(std::uint32_t index) const;

    /** Writes the key into an existing string, to reuse its memory in loops over many keys. */
    void assign_key(std::uint32_t index, std::string& to) const;

    /** A description for messages: `jobs:nightly` or `thread_id_lock:0..15`. */
    [[nodiscard]] std::string describe() const;

    friend bool operator==(KeyRange const&, KeyRange const&) = default;
};

/// a range that pools, leases and requests share; never null
using KeyRangePtr = std::shared_ptr<KeyRange const>;

/** The range of one named key. @throws std::invalid_argument if the key is not usable (see `check_key`). */
[[nodiscard]] TENURE_API KeyRangePtr named_key(std::string key);

/** The range of one named key that is held in places. @throws std::invalid_argument if the key is not usable */
[[nodiscard]] TENURE_API KeyRangePtr shared_key(std::string key);

/** The range `prefix + 0` .. `prefix + (count - 1)`. @throws std::invalid_argument if the prefix is not usable or count
 * is not in [1, 2^20]. */
[[nodiscard]] TENURE_API KeyRangePtr numbered_keys(std::string prefix, std::uint32_t count);

/** Refuses unusable keys: empty, longer than 1 KiB, with NUL or line breaks, or with braces that are not one non-empty
 * hash tag `{...}`.
 *
 *  @param field  how the message names the value, e.g. "SlotPoolConfig::prefix"
 *  @throws std::invalid_argument naming field, value and rule */
TENURE_API void check_key(std::string const& field, std::string const& key);

} // namespace tenure
