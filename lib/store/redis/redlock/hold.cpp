// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "hold.hpp"

#include "votes.hpp"

#include <tenure/backend/renew_each.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tenure::redlock
{

namespace
{

/** One question to all nodes. Answered once, by what `Rule::decide` makes of the votes so far, or, when all have
 * answered and nothing was decided, by what went wrong. */
template <class Rule, class Reply>
class Poll : public std::enable_shared_from_this<Poll<Rule, Reply>>
{
public:
    Poll(QuorumPtr quorum, Rule rule, ReplyHandler<Reply> handler)
        : quorum_(std::move(quorum))
        , rule_(std::move(rule))
        , handler_(std::move(handler))
        , votes_(quorum_->size())
    {
    }

    void start()
    {
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            rule_.ask(*quorum_->nodes()[node], [self = this->shared_from_this(), node](Reply reply) {
                self->voted(node, std::move(reply));
            });
    }

    void voted(std::size_t node, Reply reply)
    {
        votes_.cast(node, std::move(reply));
        judge();
    }

private:
    void judge()
    {
        auto decision = handler_ ? rule_.decide(*quorum_, votes_) : std::nullopt;
        if (handler_ && !decision && votes_.complete())
            decision = failure();
        if (decision)
            std::exchange(handler_, nullptr)(std::move(*decision));
        // a vote that comes after the decision may still ask for something to be done
        rule_.afterwards(*quorum_, votes_);
    }

    [[nodiscard]] Failure failure() const
    {
        VerdictBuilder builder(*quorum_, rule_.what());
        bool all_unsent = true;
        for (std::size_t node = 0; node < quorum_->size(); ++node) {
            auto const name = quorum_->nodes()[node]->describe();
            auto const& reply = votes_.of(node);
            all_unsent = all_unsent && failed_as(reply, Failure::Effect::not_sent);
            if (!builder.add_failure_in(name, reply))
                builder.add(name, rule_.words(reply));
        }
        return builder.take(
            all_unsent           ? Failure::Effect::not_sent
            : builder.in_doubt() ? Failure::Effect::unknown
                                 : Failure::Effect::refused);
    }

    QuorumPtr quorum_;
    Rule rule_;
    /// empty: answered
    ReplyHandler<Reply> handler_;
    Votes<Reply> votes_;
};

template <class Rule, class Reply>
void poll(QuorumPtr const& quorum, Rule rule, ReplyHandler<Reply> handler)
{
    std::make_shared<Poll<Rule, Reply>>(quorum, std::move(rule), std::move(handler))->start();
}

struct RenewRule {
    RenewRequest request;
    /// nodes that were asked to take the claim back
    std::vector<bool> healed = {};

    [[nodiscard]] std::string what() const { return "renewal of " + request.claim->key(); }

    [[nodiscard]] static char const* words(RenewReply const& reply)
    {
        return std::holds_alternative<NotOwner>(reply) ? "bears another owner" : "done";
    }

    [[nodiscard]] std::optional<RenewReply> decide(Quorum const& quorum, Votes<RenewReply> const& votes) const
    {
        if (votes.count<Renewed>() >= quorum.majority()) {
            Renewed all{request.ttl, Instant::max()};
            for (std::size_t node = 0; node < votes.size(); ++node)
                if (auto const* const renewed = votes.get<Renewed>(node)) {
                    all.since = std::min(all.since, renewed->since);
                    all.ttl = std::min(all.ttl, renewed->ttl);
                }
            return all;
        }
        if (votes.count<NotOwner>() >= quorum.veto())
            return NotOwner{};
        return std::nullopt;
    }

    void afterwards(Quorum const& quorum, Votes<RenewReply> const& votes)
    {
        if (votes.count<Renewed>() < quorum.majority())
            return;
        healed.resize(quorum.size());
        for (std::size_t node = 0; node < quorum.size(); ++node)
            if (!healed[node] && votes.get<NotOwner>(node)) {
                healed[node] = true;
                heal(quorum.nodes()[node]);
            }
    }

    /** A node that lost its data has lost the last token too. */
    static void restore_token(redis::NodeBackend& node, ClaimPtr const& claim, Instant not_after)
    {
        if (claim->fencing_token == 0)
            return;
        redis::TokenRequest token{claim->range, claim->index, claim->owner, claim->fencing_token, not_after};
        node.accept_token(std::move(token), [](redis::TokenReply const&) {});
    }

    /** Only a free key is taken. Whoever holds it there is in a minority, and lapses. */
    void heal(Quorum::Node const& node) const
    {
        if (request.claim->ended.load(std::memory_order_acquire))
            return;
        ClaimRequest taking;
        taking.range = single_key(request.claim->range, request.claim->index);
        taking.owner = request.claim->owner;
        taking.ttl = request.ttl;
        taking.reuse_after = request.claim->reuse_after;
        taking.not_after = request.not_after;
        taking.fencing = false;
        node->claim(std::move(taking), [node, claim = request.claim, ttl = request.ttl](ClaimReply const& reply) {
            auto const* const granted = std::get_if<Granted>(&reply);
            if (granted == nullptr)
                return;
            if (!claim->ended.load(std::memory_order_acquire)) {
                restore_token(*node, claim, granted->since + ttl);
                return;
            }
            // released meanwhile, and the release may have come to this node first
            ReleaseRequest back;
            back.claim = claim;
            back.not_after = granted->since + ttl;
            node->release(std::move(back), [](ReleaseReply const&) {});
        });
    }
};

struct ReleaseRule {
    ReleaseRequest request;

    [[nodiscard]] std::string what() const { return "release of " + request.claim->key(); }

    [[nodiscard]] static char const* words(ReleaseReply const& reply)
    {
        return std::holds_alternative<NotOwner>(reply) ? "bears another owner" : "done";
    }

    void ask(redis::NodeBackend& node, ReplyHandler<ReleaseReply> handler) const
    {
        node.release(request, std::move(handler));
    }

    [[nodiscard]] static std::optional<ReleaseReply> decide(Quorum const& quorum, Votes<ReleaseReply> const& votes)
    {
        if (votes.count<Released>() >= quorum.majority())
            return Released{};
        if (votes.count<NotOwner>() >= quorum.veto())
            return NotOwner{};
        return std::nullopt;
    }

    static void afterwards(Quorum const&, Votes<ReleaseReply> const&) {}
};

struct WithdrawRule {
    WithdrawRequest request;

    [[nodiscard]] std::string what() const { return "withdrawal from " + request.range->describe(); }

    [[nodiscard]] static char const* words(WithdrawReply const&) { return "done"; }

    void ask(redis::NodeBackend& node, ReplyHandler<WithdrawReply> handler) const
    {
        node.withdraw(request, std::move(handler));
    }

    [[nodiscard]] static std::optional<WithdrawReply> decide(Quorum const& quorum, Votes<WithdrawReply> const& votes)
    {
        if (votes.count<Released>() >= quorum.majority())
            return Released{};
        return std::nullopt;
    }

    static void afterwards(Quorum const&, Votes<WithdrawReply> const&) {}
};

struct EvictRule {
    EvictRequest request;

    [[nodiscard]] std::string what() const { return "eviction from " + request.range->key(request.index); }

    [[nodiscard]] static char const* words(EvictReply const& reply)
    {
        return std::holds_alternative<NotOwner>(reply) ? "bears another owner" : "done";
    }

    void ask(redis::NodeBackend& node, ReplyHandler<EvictReply> handler) const
    {
        node.evict(request, std::move(handler));
    }

    [[nodiscard]] static std::optional<EvictReply> decide(Quorum const& quorum, Votes<EvictReply> const& votes)
    {
        // as many as can veto keep the holder from renewing; its own majority is gone with them
        if (votes.count<Evicted>() >= quorum.veto()) {
            Evicted all;
            for (std::size_t node = 0; node < votes.size(); ++node)
                if (auto const* const evicted = votes.get<Evicted>(node); evicted && evicted->remaining)
                    all.remaining = std::max(all.remaining.value_or(*evicted->remaining), *evicted->remaining);
            return all;
        }
        if (votes.count<NotOwner>() >= quorum.majority())
            return NotOwner{};
        return std::nullopt;
    }

    static void afterwards(Quorum const&, Votes<EvictReply> const&) {}
};

} // namespace

void renew(QuorumPtr const& quorum, std::vector<RenewRequest> requests, RenewHandler handler)
{
    using Renewal = Poll<RenewRule, RenewReply>;
    // each claim is decided by itself, whatever nodes are asked in one call
    auto const renewals = std::make_shared<std::vector<std::shared_ptr<Renewal>>>();
    renew_each(requests, std::move(handler), [&](RenewRequest request, ReplyHandler<RenewReply> reply_to) {
        renewals->push_back(std::make_shared<Renewal>(quorum, RenewRule{std::move(request)}, std::move(reply_to)));
    });
    for (std::size_t node = 0; node < quorum->size(); ++node)
        quorum->nodes()[node]->renew(requests, [renewals, node](std::span<RenewAnswer> answers) {
            for (auto& answer : answers)
                (*renewals)[answer.request]->voted(node, std::move(answer.reply));
        });
}

void release(QuorumPtr const& quorum, ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    poll(quorum, ReleaseRule{std::move(request)}, std::move(handler));
}

void withdraw(QuorumPtr const& quorum, WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
{
    poll(quorum, WithdrawRule{std::move(request)}, std::move(handler));
}

void evict(QuorumPtr const& quorum, EvictRequest request, ReplyHandler<EvictReply> handler)
{
    poll(quorum, EvictRule{std::move(request)}, std::move(handler));
}

} // namespace tenure::redlock
