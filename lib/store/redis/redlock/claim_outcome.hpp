// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "token_agreement.hpp"
#include "votes.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace tenure::redlock
{

/** What a majority's grants come to: the shortest of their ttls, from the earliest of their requests on. */
[[nodiscard]] Granted granted_by_majority(
    Votes<ClaimReply> const& votes, std::uint32_t index, std::uint64_t token, std::chrono::milliseconds ttl);

/** The lock is others', by so many votes that no majority is left, or by a split that gave it to nobody.
 *  @param alone  no other key could be had in its place */
[[nodiscard]] Busy held_by_others(Quorum const& quorum, Votes<ClaimReply> const& votes, bool alone);

/** No majority granted, or agreed on a token: why, in every server's words.
 *  @param in_doubt  something of the claim may be left on a server */
[[nodiscard]] Failure no_majority(
    Quorum const& quorum, KeyRange const& key, Votes<ClaimReply> const& votes,
    std::optional<TokenAgreement> const& agreement, bool in_doubt);

/** So few servers answered a look that it says nothing. Nothing was asked for yet. */
[[nodiscard]] Failure no_look(Quorum const& quorum, KeyRange const& range, Votes<InspectReply> const& looks);

} // namespace tenure::redlock
