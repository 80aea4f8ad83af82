// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "slot_nodes.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::redis
{

/** What a look saw of one key. */
enum class KeyLook {
    free,
    /// a value is there: another owner's, or another type
    held,
    /// the value is the owner searched for
    own,
    /// its node did not answer, or refused
    unreadable
};

struct Looks {
    /// for each key asked for, in order
    std::vector<KeyLook> keys;
    /// why one was unreadable: of the first of them
    std::optional<Failure> why;
};

/** Some keys of a range that spreads over the nodes. */
struct SpreadPart {
    KeyRangePtr range;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/** Looks at keys that are at many nodes, all at once: one EXISTS for each, or where the owner is searched for a script.
 * No value is read: somebody else's may be larger than a reply may be, which ends the connection.
 *
 *  @param deadline  keys without an answer then are unreadable
 *  @param searching  for the owner: nodes that are known to be out of reach are waited for. false: no key is `own` */
void look_at(
    std::shared_ptr<SlotNodes> const& nodes, SpreadPart const& part, std::string const& owner, Deadline deadline,
    bool searching, std::function<void(Looks)> handler);

/** When the first of the keys expires, and how many never do: of those that could be looked at
 * before the deadline. */
struct SpreadSurvey {
    std::optional<std::chrono::milliseconds> earliest_expiry;
    std::uint32_t foreign = 0;
    /// how many those are
    std::uint32_t seen = 0;
};
void survey(
    std::shared_ptr<SlotNodes> const& nodes, KeyRangePtr const& range, Deadline deadline,
    std::function<void(SpreadSurvey)> handler);

} // namespace tenure::redis
