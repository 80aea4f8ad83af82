// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection of a range on a quorum, and listing of its keys.
#include "operations.hpp"

#include "quorum.hpp"

#include <store/gather.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tenure::redlock
{

namespace
{

using std::chrono::milliseconds;

/** State of one key on the nodes. */
struct KeyAccount {
    /// reports by kind and owner: held, or resting or kept after its lease
    std::map<std::pair<KeyState::Kind, std::string>, std::vector<KeyState const*>> taken;
    /// remaining times of foreign values; unset: no ttl
    std::vector<std::optional<milliseconds>> foreign;
};

/** A key is held if a majority reports the same owner. A leftover on a minority counts as free, because it blocks no
 *  claim. */
KeyState agree(Quorum const& quorum, KeyAccount account, std::uint32_t index)
{
    KeyState state;
    state.index = index;
    if (account.foreign.size() >= quorum.veto()) {
        state.kind = KeyState::Kind::foreign;
        // the key can be claimed once the blocking nodes are too few for a veto
        auto const last = account.foreign.begin() + static_cast<std::ptrdiff_t>(account.foreign.size() - quorum.veto());
        std::ranges::nth_element(
            account.foreign, last, {}, [](auto left) { return left.value_or(milliseconds::max()); });
        state.remaining = *last;
    }
    for (auto const& [what, seen] : account.taken) {
        if (seen.size() < quorum.majority())
            continue;
        std::tie(state.kind, state.owner) = what;
        std::vector<milliseconds> remaining;
        std::vector<std::uint64_t> tokens;
        for (auto const* const one : seen) {
            if (one->remaining)
                remaining.push_back(*one->remaining);
            tokens.push_back(one->fencing_token);
            if (one->held_for)
                state.held_for = std::max(state.held_for.value_or(*one->held_for), *one->held_for);
        }
        // the majority with the longest times holds the key until its first member frees it; likewise for the tokens
        auto const last = static_cast<std::ptrdiff_t>(quorum.majority() - 1);
        std::ranges::nth_element(tokens, tokens.begin() + last, std::greater{});
        state.fencing_token = tokens[quorum.majority() - 1];
        if (remaining.size() >= quorum.majority()) {
            std::ranges::nth_element(remaining, remaining.begin() + last, std::greater{});
            state.remaining = remaining[quorum.majority() - 1];
        }
    }
    return state;
}

KeyAccount account_of(Votes<InspectReply> const& votes, std::uint32_t index)
{
    KeyAccount account;
    for (std::size_t node = 0; node < votes.size(); ++node)
        if (auto const* const keys = votes.get<std::vector<KeyState>>(node); keys && index < keys->size()) {
            auto const& key = (*keys)[index];
            if (key.kind != KeyState::Kind::free && key.kind != KeyState::Kind::foreign)
                account.taken[{key.kind, key.owner}].push_back(&key);
            if (key.kind == KeyState::Kind::foreign)
                account.foreign.push_back(key.remaining);
        }
    return account;
}

} // namespace

store::Request<InspectReply> inspect(QuorumPtr quorum, InspectRequest request)
{
    auto const& range = request.range;
    auto const inspects =
        request.names_only ? &redis::VoterBackend::inspect : &redis::VoterBackend::inspect_with_tokens;
    Votes<InspectReply> votes(quorum->size());
    auto look = store::gather(quorum->runtime(), request.not_after.at(), [&](auto const& reply_to) {
        for (std::size_t node = 0; node < quorum->size(); ++node)
            (quorum->nodes()[node].get()->*inspects)(
                request, reply_to([&votes, node](InspectReply&& reply) { votes.cast(node, std::move(reply)); }));
    });
    co_await look;
    if (votes.count<std::vector<KeyState>>() < quorum->majority())
        co_return no_majority(
            *quorum, "look at " + range->describe(), votes, [](std::size_t) { return "answered"; },
            Failure::Effect::refused);
    std::vector<KeyState> states;
    states.reserve(range->count);
    for (std::uint32_t index = 0; index < range->count; ++index)
        states.push_back(agree(*quorum, account_of(votes, index), index));
    co_return std::move(states);
}

store::Request<ListReply> list(QuorumPtr quorum, ListRequest request)
{
    Votes<ListReply> votes(quorum->size());
    auto scans = store::gather(quorum->runtime(), request.not_after.at(), [&](auto const& reply_to) {
        for (std::size_t node = 0; node < quorum->size(); ++node)
            quorum->nodes()[node]->list(
                request, reply_to([&votes, node](ListReply&& reply) { votes.cast(node, std::move(reply)); }));
    });
    co_await scans;
    if (votes.count<KeyList>() < quorum->majority())
        co_return no_majority(
            *quorum, "listing of keys", votes, [](std::size_t) { return "answered"; }, Failure::Effect::refused);
    KeyList all;
    for (std::size_t node = 0; node < votes.size(); ++node)
        if (auto const* const found = votes.get<KeyList>(node)) {
            all.keys.insert(all.keys.end(), found->keys.begin(), found->keys.end());
            all.more = all.more || found->more;
        }
    co_return std::move(all);
}

} // namespace tenure::redlock
