// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "look.hpp"

#include "survey.hpp"
#include "votes.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

namespace tenure::redlock
{

namespace
{

using std::chrono::milliseconds;

/** What the nodes say of one key. */
struct KeyAccount {
    /// by what they say and of which owner: held by it, or resting or kept since its lease ended
    std::map<std::pair<KeyState::Kind, std::string>, std::vector<KeyState const*>> taken;
    /// what is left of the other programs' values; unset: such a value never expires
    std::vector<std::optional<milliseconds>> foreign;
};

/** Held is what a majority says is held by one owner; a minority's leftover is as good as free, for it keeps nobody
 * out. */
KeyState agree(Quorum const& quorum, KeyAccount account, std::uint32_t index)
{
    KeyState state;
    state.index = index;
    if (account.foreign.size() >= quorum.veto()) {
        state.kind = KeyState::Kind::foreign;
        // the key can be had once one node too few for a veto is left
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
        // a majority holds it until the first of its last members lets go, and has agreed on what it has at least
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

class Inspection : public std::enable_shared_from_this<Inspection>
{
public:
    Inspection(QuorumPtr quorum, KeyRangePtr range, ReplyHandler<InspectReply> handler)
        : quorum_(std::move(quorum))
        , range_(std::move(range))
        , handler_(std::move(handler))
        , looks_(quorum_->size())
    {
    }

    void start(Deadline not_after)
    {
        auto& runtime = quorum_->runtime();
        // held by the nodes that have not answered; a runtime that is gone never rings
        timer_ = runtime.call_at(not_after.at(), [weak = weak_from_this()] {
            if (auto const self = weak.lock())
                self->finish();
        });
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            quorum_->nodes()[node]->inspect_with_tokens(
                range_, not_after, [self = shared_from_this(), node](InspectReply reply) {
                    self->looks_.cast(node, std::move(reply));
                    if (self->looks_.complete())
                        self->finish();
                });
    }

private:
    void finish()
    {
        if (!handler_)
            return;
        quorum_->runtime().cancel(timer_);
        std::exchange(handler_, nullptr)(reply());
    }

    [[nodiscard]] InspectReply reply() const
    {
        if (looks_.count<std::vector<KeyState>>() < quorum_->majority())
            return no_majority();
        std::vector<KeyState> states;
        states.reserve(range_->count);
        for (std::uint32_t index = 0; index < range_->count; ++index) {
            KeyAccount account;
            for (std::size_t node = 0; node < looks_.size(); ++node)
                if (auto const* const keys = looks_.get<std::vector<KeyState>>(node); keys && index < keys->size()) {
                    auto const& key = (*keys)[index];
                    if (key.kind != KeyState::Kind::free && key.kind != KeyState::Kind::foreign)
                        account.taken[{key.kind, key.owner}].push_back(&key);
                    if (key.kind == KeyState::Kind::foreign)
                        account.foreign.push_back(key.remaining);
                }
            states.push_back(agree(*quorum_, std::move(account), index));
        }
        return states;
    }

    [[nodiscard]] InspectReply no_majority() const
    {
        VerdictBuilder builder(*quorum_, "look at " + range_->describe());
        for (std::size_t node = 0; node < quorum_->size(); ++node) {
            auto const name = quorum_->nodes()[node]->describe();
            if (!looks_.is_cast(node))
                builder.add_silence(name);
            else if (!builder.add_failure_in(name, looks_.of(node)))
                builder.add(name, "answered");
        }
        return builder.take(Failure::Effect::refused);
    }

    QuorumPtr quorum_;
    KeyRangePtr range_;
    /// empty: answered
    ReplyHandler<InspectReply> handler_;
    Votes<InspectReply> looks_;
    Runtime::TimerId timer_ = 0;
};

class Examination : public std::enable_shared_from_this<Examination>
{
public:
    Examination(QuorumPtr quorum, ReplyHandler<Findings> handler)
        : quorum_(std::move(quorum))
        , handler_(std::move(handler))
        , told_(quorum_->size())
    {
    }

    void start(milliseconds ttl, Deadline not_after)
    {
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            quorum_->nodes()[node]->examine(ttl, not_after, [self = shared_from_this(), node](Findings findings) {
                self->told_[node] = std::move(findings);
                if (++self->count_ == self->told_.size())
                    self->finish();
            });
    }

private:
    void finish()
    {
        Findings all;
        all.push_back(
            {Finding::Severity::ok, "quorum",
             std::to_string(quorum_->majority()) + " of " + std::to_string(quorum_->size()) + " servers decide",
             "A lease is safe while fewer than that lose their data or their clock at a time; keep each server on a "
             "machine of its own, and one that lost its data down for the longest ttl"});
        for (std::size_t node = 0; node < told_.size(); ++node)
            for (auto& finding : told_[node]) {
                finding.subject = quorum_->nodes()[node]->describe() + ": " + finding.subject;
                all.push_back(std::move(finding));
            }
        std::move(handler_)(std::move(all));
    }

    QuorumPtr quorum_;
    ReplyHandler<Findings> handler_;
    std::vector<Findings> told_;
    std::size_t count_ = 0;
};

} // namespace

void inspect(QuorumPtr const& quorum, KeyRangePtr range, Deadline not_after, ReplyHandler<InspectReply> handler)
{
    std::make_shared<Inspection>(quorum, std::move(range), std::move(handler))->start(not_after);
}

void examine(QuorumPtr const& quorum, milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler)
{
    std::make_shared<Examination>(quorum, std::move(handler))->start(ttl, not_after);
}

} // namespace tenure::redlock
