// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure
{

/** The state of one key as the store reports it. A snapshot: it may be wrong by the time it is read, and proves no
 * ownership.
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
        /// a key of another program: of another type, or without ttl. It becomes free by itself only if `remaining` is
        /// set, and `evict` refuses it
        foreign
    };
    std::uint32_t index = 0;
    Kind kind = Kind::free;
    std::string owner;
    std::optional<std::chrono::milliseconds> remaining;
    /// the last fencing token granted for the key, 0 if none is known
    std::uint64_t fencing_token = 0;
    /// how long the present holder has held it, if the store reports it
    std::optional<std::chrono::milliseconds> held_for;
};

/** One result of `tenure doctor`. */
struct Finding {
    enum class Severity { ok, unverified, warning, error };
    Severity severity = Severity::ok;
    /// the examined property: "version", "round trip", "persistence", "eviction policy" ...
    std::string subject;
    /// the observed value
    std::string observed;
    /// the consequence for leases, and the remedy; empty if there is no problem
    std::string advice;
};
using Findings = std::vector<Finding>;

} // namespace tenure
