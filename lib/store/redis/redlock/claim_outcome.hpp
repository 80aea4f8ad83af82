// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Results of the nodes' replies to a claim and to the preceding reads. Pure.
#pragma once

#include "quorum.hpp"
#include "runtime/names.hpp"
#include "token_agreement.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tenure::redlock
{

/** Result of reading a range on the nodes. */
struct Survey {
    /// indexes of keys that are free on a majority, ascending
    std::vector<std::uint32_t> free;
    /// index at which most nodes have the owner of the claim; unset: nowhere
    std::optional<std::uint32_t> own;
    /// if no key is free: time until the first key can be claimed on a majority, as far as known
    std::optional<std::chrono::milliseconds> earliest_expiry;
    /// no key can ever be claimed on a majority, because foreign values without ttl block them
    bool never_frees = false;
};

/** Requires the answers of a majority. */
[[nodiscard]] Survey
survey(Quorum const& quorum, Votes<InspectReply> const& looks, std::uint32_t count, std::string_view owner);

/** Time until a majority of nodes frees the key, unless its holder renews. Each entry is one node's remaining time:
 *  zero if free, unset if it never expires or the node did not answer. */
[[nodiscard]] std::optional<std::chrono::milliseconds>
until_majority_is_free(Quorum const& quorum, std::vector<std::optional<std::chrono::milliseconds>> remaining);

/** Makes the grant of a majority: the shortest of its ttls, counted from the earliest of its requests. */
[[nodiscard]] Granted granted_by_majority(
    Votes<ClaimReply> const& votes, std::uint32_t index, std::uint64_t token, std::chrono::milliseconds ttl);

/** Makes the answer if others hold enough votes to prevent a majority, or the votes were split.
 *  @param alone  the range has no other key to try */
[[nodiscard]] Busy held_by_others(Quorum const& quorum, Votes<ClaimReply> const& votes, bool alone);

/** Makes the failure of a claim without a majority of grants or of accepted tokens, with the error of every server.
 *  @param in_doubt  parts of the claim may be left on a server */
[[nodiscard]] Failure not_granted(
    Quorum const& quorum, KeyRange const& key, Votes<ClaimReply> const& votes,
    std::optional<TokenAgreement> const& agreement, bool in_doubt);

/** Makes the failure if too few servers answered a read. No claim was sent yet. */
[[nodiscard]] Failure no_look(Quorum const& quorum, KeyRange const& range, Votes<InspectReply> const& looks);

} // namespace tenure::redlock
