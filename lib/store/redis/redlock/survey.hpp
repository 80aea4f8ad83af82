// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "votes.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::redlock
{

/** What the nodes' looks at a range come to. */
struct Survey {
    /// indices that are free on a majority, ascending
    std::vector<std::uint32_t> free;
    /// where the owner that was asked for was seen on the most nodes; unset: nowhere
    std::optional<std::uint32_t> own;
    /// with nothing free: until the first key can be had on a majority, if any node that holds one tells
    std::optional<std::chrono::milliseconds> earliest_expiry;
    /// no key can ever be had on a majority: somebody else's values without expiry are in the way
    bool never_frees = false;
};

/** Needs the answers of a majority. */
[[nodiscard]] Survey
survey(Quorum const& quorum, Votes<InspectReply> const& looks, std::uint32_t count, std::string_view owner);

/** How long until so many nodes as make a majority have let the key go, if nobody renews: each entry is one node's
 * remaining time, zero for one that is free, unset for one that never lets go or did not answer. */
[[nodiscard]] std::optional<std::chrono::milliseconds>
until_majority_is_free(Quorum const& quorum, std::vector<std::optional<std::chrono::milliseconds>> remaining);

} // namespace tenure::redlock
