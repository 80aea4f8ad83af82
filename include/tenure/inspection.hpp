// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/key_range.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure
{

/** One place of a key that is held in places: of a fair lock, a read-write lock or a semaphore. */
struct Place {
    /// as `KeyState::owner`
    std::string owner = {};
    /// the part of the key that it takes: 1 of a fair lock or a reader, the permits of a semaphore
    std::uint32_t weight = 1;
    /// the greatest sum of weights that may hold together with it
    std::uint32_t capacity = 1;
    /// its number: the fencing token of its lease
    std::uint64_t fencing_token = 0;
    /// time until it lapses without a renewal
    std::chrono::milliseconds remaining{};
    /// true: it holds; false: it waits
    bool holds = false;

    friend bool operator==(Place const&, Place const&) = default;
};

/** The state of one key as the store reports it. A snapshot: it may be wrong by the time it is read, and proves no
 * ownership.
 */
struct KeyState {
    /// the kind of state
    enum class Kind {
        free,
        held,
        /// released, and in quarantine until it expires (`SlotPoolConfig::reuse_after`); `owner` held it last
        resting,
        /// left to expire by its holder (`Lease::async_detach`), and taken until then; `owner` held it last.
        /// `async_evict` refuses it, and `async_free` ends it, as it ends a quarantine
        kept,
        /// a key of another program: of another type, or without ttl. It becomes free by itself only if `remaining` is
        /// set, and `evict` refuses it
        foreign
    };
    /// the range that was inspected; null only if the state comes from no inspection
    KeyRangePtr range = {};
    /// the position of the key in the range, counted from 0
    std::uint32_t index = 0;
    /// free, held, or why it is taken without a holder
    Kind kind = Kind::free;
    /// all owners of this library are shorter
    static constexpr std::size_t longest_owner = 1024;
    /// the value under the key, cut off after `longest_owner` bytes. It begins with the name of the holder, and its
    /// random part is a secret. Empty for a free key
    std::string owner = {};
    /// time until the key expires without a renewal; unset if it is free or never expires
    std::optional<std::chrono::milliseconds> remaining = {};
    /// the last fencing token granted for the key, 0 if none is known
    std::uint64_t fencing_token = 0;
    /// how long ago the present holder made its claim, if the store reports it. A holder that has waited on Redis made
    /// it when the wait began, by its own wall clock
    std::optional<std::chrono::milliseconds> held_for = {};
    /// the places of a key that is held in places, in their order: those that hold, then those that wait. The first one
    /// is also `owner`, `remaining` and `fencing_token`
    std::vector<Place> places = {};

    /** The key; empty if the state comes from no inspection. */
    [[nodiscard]] std::string key() const { return range == nullptr ? std::string() : range->key(index); }
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(KeyState::Kind kind) noexcept;

/** Names of keys in a store. A name proves nothing: the key may be free, or belong to another program. */
struct KeyList {
    /// sorted, each once
    std::vector<std::string> keys = {};
    /// true: the listing stopped early, and there may be further keys
    bool more = false;

    friend bool operator==(KeyList const&, KeyList const&) = default;
};

/** One result of `tenure doctor`. */
struct Finding {
    /// `unverified`: the check failed, for example because the user lacks a permission
    enum class Severity { ok, unverified, warning, error };
    /// the worst one of all findings determines the exit code of `tenure doctor`
    Severity severity = Severity::ok;
    /// the examined property: "version", "round trip", "persistence", "eviction policy" ...
    std::string subject;
    /// the observed value
    std::string observed;
    /// the consequence for leases, and the remedy. May also be given with `ok`; empty if there is nothing to say
    std::string advice;
};
/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(Finding::Severity severity) noexcept;

/// all results of `Store::async_examine`
using Findings = std::vector<Finding>;

} // namespace tenure
