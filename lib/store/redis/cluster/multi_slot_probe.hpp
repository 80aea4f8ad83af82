// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Probes and surveys of keys in many hash slots.
#pragma once

#include "slot_contexts.hpp"

#include "runtime/names.hpp"
#include "store/redis/claim/range_cache.hpp"

#include <store/request.hpp>

#include <tenure/backend/backend.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::redis
{

/** State of one key in a probe. */
enum class KeyProbe {
    free,
    /// has another owner, or another type
    held,
    /// has the owner that is searched for
    own,
    /// the node did not answer, or refused
    unreadable
};

struct Probes {
    /// one per requested key, in order
    std::vector<KeyProbe> keys;
    /// why the first unreadable key could not be read
    std::optional<Failure> why;
};

/** Some keys of a spread range. */
struct MultiSlotPart {
    KeyRangePtr range;
    std::uint32_t first = 0;
    std::uint32_t count = 0;

    [[nodiscard]] std::uint32_t end() const noexcept { return first + count; }
};

/** Makes the part of the range with at most `count` keys from `first` on. The largest pool must not fill one turn of
 *  the loop. */
[[nodiscard]] inline MultiSlotPart part_of(KeyRangePtr const& range, std::uint32_t first, std::uint32_t most)
{
    return {range, first, std::min(most, range->count - first)};
}

// The most keys that are probed in one turn of the loop.
inline constexpr std::uint32_t largest_probe = 4096;

// How long a node may take to answer a probe for an owner: its claim is worth waiting for.
inline constexpr std::chrono::milliseconds search_within{2000};

/** The search of a probe. */
struct ProbeRequest {
    std::string owner;
    /// keys without an answer then are unreadable
    Deadline deadline;
    /// for the owner: also waits for nodes that are known to be unreachable. false: no key is `own`
    bool searching = false;
    resp::Urgency urgency = resp::Urgency::step;
};

/** Probes keys on many nodes at once: one EXISTS per key, or a script if an owner is searched for. It reads no values,
 *  because a foreign value may exceed the limit of a reply, which ends the connection. */
[[nodiscard]] store::Request<Probes>
probe(std::shared_ptr<SlotContexts> slots, MultiSlotPart part, ProbeRequest request);

/** Reads when the first key expires, and how many keys never expire, among the keys that are read before the deadline.
 *  Unless all keys were read, no key counts as one that never expires. */
[[nodiscard]] store::Request<Survey> survey(std::shared_ptr<SlotContexts> slots, KeyRangePtr range, Deadline deadline);

} // namespace tenure::redis
