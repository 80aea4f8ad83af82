// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure
{

/** What one key looks like from outside. A snapshot: it may be wrong by the time it is read, and proves no ownership.
 */
struct KeyState {
    enum class Kind {
        free,
        held,
        /// released, and in quarantine until it expires (`SlotPoolConfig::reuse_after`); `owner` held it last
        resting,
        /// left to expire by its holder (`Lease::async_detach`), and taken until then; `owner` held it last. `evict`
        /// refuses it
        kept,
        /// another program's: of another type, or without ttl. It frees by itself only if `remaining` is set, and
        /// `evict` refuses it
        foreign
    };
    std::uint32_t index = 0;
    Kind kind = Kind::free;
    std::string owner;
    std::optional<std::chrono::milliseconds> remaining;
    /// the last fencing token granted for the key, 0 if none is known
    std::uint64_t fencing_token = 0;
    /// how long the present holder has held it, where the store can tell
    std::optional<std::chrono::milliseconds> held_for;
};

/** One thing that `tenure doctor` found out about a store. */
struct Finding {
    enum class Severity { ok, unverified, warning, error };
    Severity severity = Severity::ok;
    /// what was looked at: "version", "round trip", "persistence", "eviction policy" ...
    std::string subject;
    /// what was seen
    std::string observed;
    /// what that means for leases, and what to do; empty where all is well
    std::string advice;
};
using Findings = std::vector<Finding>;

} // namespace tenure
