// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Inspection of a range on a quorum.
#include "operations.hpp"

#include "quorum_request.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

class Inspection final : public QuorumRequest<KeyRangePtr, InspectReply>
{
public:
    using QuorumRequest::QuorumRequest;

private:
    [[nodiscard]] std::string what() const override { return "look at " + request_->describe(); }

    [[nodiscard]] std::string_view words(InspectReply const&) const override { return "answered"; }

    [[nodiscard]] InspectReply conclude() const override
    {
        if (votes_.count<std::vector<KeyState>>() < quorum_->majority())
            return failure(Failure::Effect::refused);
        std::vector<KeyState> states;
        states.reserve(request_->count);
        for (std::uint32_t index = 0; index < request_->count; ++index)
            states.push_back(agree(*quorum_, account_of(index), index));
        return states;
    }

    [[nodiscard]] KeyAccount account_of(std::uint32_t index) const
    {
        KeyAccount account;
        for (std::size_t node = 0; node < votes_.size(); ++node)
            if (auto const* const keys = votes_.get<std::vector<KeyState>>(node); keys && index < keys->size()) {
                auto const& key = (*keys)[index];
                if (key.kind != KeyState::Kind::free && key.kind != KeyState::Kind::foreign)
                    account.taken[{key.kind, key.owner}].push_back(&key);
                if (key.kind == KeyState::Kind::foreign)
                    account.foreign.push_back(key.remaining);
            }
        return account;
    }
};

} // namespace

void inspect(QuorumPtr const& quorum, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
{
    auto ask = [&not_after](redis::VoterBackend& node, KeyRangePtr of, ReplyHandler<InspectReply> reply_to) {
        node.inspect_with_tokens(std::move(of), not_after, std::move(reply_to));
    };
    std::make_shared<Inspection>(quorum, std::move(range), std::move(handler))->start(ask, not_after.at());
}

} // namespace tenure::redlock
