// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claim_outcome.hpp"

#include "survey.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tenure::redlock
{

Granted granted_by_majority(
    Votes<ClaimReply> const& votes, std::uint32_t index, std::uint64_t token, std::chrono::milliseconds ttl)
{
    Granted all{index, token, ttl, Instant::max(), nullptr};
    for (std::size_t node = 0; node < votes.size(); ++node)
        if (auto const* const grant = votes.get<Granted>(node)) {
            all.since = std::min(all.since, grant->since);
            all.ttl = std::min(all.ttl, grant->ttl);
        }
    return all;
}

Busy held_by_others(Quorum const& quorum, Votes<ClaimReply> const& votes, bool alone)
{
    // where the votes were split nobody has it, and when it frees nobody knows
    if (votes.count<Granted>() > 0)
        return {};
    Busy busy;
    std::vector<std::optional<std::chrono::milliseconds>> remaining;
    std::size_t endless = 0;
    for (std::size_t node = 0; node < votes.size(); ++node)
        if (auto const* const held = votes.get<Busy>(node)) {
            remaining.push_back(held->earliest_expiry);
            endless += held->never_frees ? 1 : 0;
        }
    busy.earliest_expiry = until_majority_is_free(quorum, std::move(remaining));
    busy.never_frees = alone && endless >= quorum.veto();
    return busy;
}

Failure no_majority(
    Quorum const& quorum, KeyRange const& key, Votes<ClaimReply> const& votes,
    std::optional<TokenAgreement> const& agreement, bool in_doubt)
{
    VerdictBuilder builder(quorum, key.describe());
    for (std::size_t node = 0; node < votes.size(); ++node) {
        auto const name = quorum.nodes()[node]->describe();
        if (!votes.is_cast(node))
            builder.add_silence(name);
        else if (votes.get<Granted>(node))
            builder.add(name, agreement ? agreement->words(node) : "granted, and given back");
        else if (votes.get<Busy>(node))
            builder.add(name, "held by another owner");
        else
            (void)builder.add_failure_in(name, votes.of(node));
    }
    return builder.take(in_doubt ? Failure::Effect::unknown : Failure::Effect::refused);
}

Failure no_look(Quorum const& quorum, KeyRange const& range, Votes<InspectReply> const& looks)
{
    VerdictBuilder builder(quorum, range.describe());
    for (std::size_t node = 0; node < looks.size(); ++node) {
        auto const name = quorum.nodes()[node]->describe();
        if (!looks.is_cast(node))
            builder.add(name, "no answer in time");
        else if (!looks.get<std::vector<KeyState>>(node))
            (void)builder.add_failure_in(name, looks.of(node));
    }
    return builder.take(Failure::Effect::not_sent);
}

} // namespace tenure::redlock
