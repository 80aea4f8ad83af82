// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What the nodes' replies to a claim, and to the looks before it, come to. Pure.
#pragma once

#include "quorum.hpp"
#include "token_agreement.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
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
    /// if no key is free: until the first key can be claimed on a majority, as far as it is known
    std::optional<std::chrono::milliseconds> earliest_expiry;
    /// no key can ever be claimed on a majority: values of other programs without expiry are in the way
    bool never_frees = false;
};

/** Needs the answers of a majority. */
[[nodiscard]] Survey
survey(Quorum const& quorum, Votes<InspectReply> const& looks, std::uint32_t count, std::string_view owner);

/** How long until a majority of nodes has let the key go, unless its holder renews: each entry is one node's remaining
 * time, zero for one that is free, unset for one that never lets go or did not answer. */
[[nodiscard]] std::optional<std::chrono::milliseconds>
until_majority_is_free(Quorum const& quorum, std::vector<std::optional<std::chrono::milliseconds>> remaining);

/** What a majority's grants come to: the shortest of their ttls, from the earliest of their requests on. */
[[nodiscard]] Granted granted_by_majority(
    Votes<ClaimReply> const& votes, std::uint32_t index, std::uint64_t token, std::chrono::milliseconds ttl);

/** Others hold the lock by enough votes to prevent a majority, or the votes were split and no claim holds it.
 *  @param alone  no other key could be had in its place */
[[nodiscard]] Busy held_by_others(Quorum const& quorum, Votes<ClaimReply> const& votes, bool alone);

/** No majority granted, or agreed on a token: why, in every server's words.
 *  @param in_doubt  something of the claim may be left on a server */
[[nodiscard]] Failure not_granted(
    Quorum const& quorum, KeyRange const& key, Votes<ClaimReply> const& votes,
    std::optional<TokenAgreement> const& agreement, bool in_doubt);

/** So few servers answered a look that it says nothing. Nothing was asked for yet. */
[[nodiscard]] Failure no_look(Quorum const& quorum, KeyRange const& range, Votes<InspectReply> const& looks);

} // namespace tenure::redlock
