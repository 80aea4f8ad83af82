// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Results of a quorum's replies to a claim.
#include "claim_outcome.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tenure::redlock
{

namespace
{

using std::chrono::milliseconds;

/** State of one key on all nodes. */
struct KeyView {
    std::size_t free = 0;
    /// number of nodes on which it never expires
    std::size_t endless = 0;
    std::size_t own = 0;
    std::vector<std::optional<milliseconds>> remaining;
};

KeyView view_of(Votes<InspectReply> const& looks, std::uint32_t index, std::string_view owner)
{
    KeyView view;
    for (std::size_t node = 0; node < looks.size(); ++node) {
        auto const* const keys = looks.get<std::vector<KeyState>>(node);
        if (keys == nullptr || index >= keys->size())
            continue;
        auto const& key = (*keys)[index];
        view.own += key.kind == KeyState::Kind::held && key.owner == owner ? 1U : 0U;
        if (key.kind == KeyState::Kind::free) {
            ++view.free;
            view.remaining.emplace_back(milliseconds{0});
        } else {
            view.remaining.push_back(key.remaining);
            view.endless += key.kind == KeyState::Kind::foreign && !key.remaining ? 1U : 0U;
        }
    }
    return view;
}

} // namespace

std::optional<milliseconds>
until_majority_is_free(Quorum const& quorum, std::vector<std::optional<milliseconds>> remaining)
{
    std::erase(remaining, std::nullopt);
    if (remaining.size() < quorum.majority())
        return std::nullopt;
    auto const last = remaining.begin() + static_cast<std::ptrdiff_t>(quorum.majority() - 1);
    std::ranges::nth_element(remaining, last);
    return *last;
}

Survey survey(Quorum const& quorum, Votes<InspectReply> const& looks, std::uint32_t count, std::string_view owner)
{
    Survey result;
    std::size_t most_own = 0;
    std::uint32_t closed = 0;
    for (std::uint32_t index = 0; index < count; ++index) {
        auto view = view_of(looks, index, owner);
        if (view.own > most_own) {
            most_own = view.own;
            result.own = index;
        }
        if (view.free >= quorum.majority())
            result.free.push_back(index);
        closed += view.endless >= quorum.veto() ? 1U : 0U;
        auto const until = until_majority_is_free(quorum, std::move(view.remaining));
        if (until && (!result.earliest_expiry || *until < *result.earliest_expiry))
            result.earliest_expiry = until;
    }
    result.never_frees = closed == count;
    return result;
}

Granted granted_by_majority(Votes<ClaimReply> const& votes, std::uint32_t index, std::uint64_t token, milliseconds ttl)
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
    // after a split vote no claim holds the lock, and its expiry is unknown
    if (votes.count<Granted>() > 0)
        return {};
    Busy busy;
    std::vector<std::optional<milliseconds>> remaining;
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

Failure not_granted(
    Quorum const& quorum, KeyRange const& key, Votes<ClaimReply> const& votes,
    std::optional<TokenAgreement> const& agreement, bool in_doubt)
{
    auto const words = [&](std::size_t node) -> std::string_view {
        if (votes.get<Busy>(node))
            return "held by another owner";
        if (votes.get<Granted>(node))
            return agreement ? agreement->words(node) : "granted, and given back";
        return {};
    };
    return no_majority(
        quorum, key.describe(), votes, words, in_doubt ? Failure::Effect::unknown : Failure::Effect::refused);
}

Failure no_look(Quorum const& quorum, KeyRange const& range, Votes<InspectReply> const& looks)
{
    auto const no_words = [](std::size_t) { return std::string_view(); };
    return no_majority(quorum, range.describe(), looks, no_words, Failure::Effect::not_sent);
}

} // namespace tenure::redlock
