// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations on a held key: renewal, release, withdrawal, eviction.
#include "operations.hpp"

#include "quorum_request.hpp"

#include <store/redis/key_names.hpp>

#include <tenure/backend/renew_each.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tenure::redlock
{

namespace
{

/** The renewal of one claim on all nodes. Unanswered requests own it. */
struct Renewal {
    QuorumPtr quorum;
    RenewRequest request;
    /// empty: answered
    ReplyHandler<RenewReply> handler;
    Votes<RenewReply> votes{quorum->size()};
    /// nodes on which the claim was repeated
    std::vector<bool> healed = std::vector<bool>(quorum->size());

    void voted(std::size_t node, RenewReply reply)
    {
        votes.cast(node, std::move(reply));
        if (handler) {
            if (auto decision = decide())
                std::move(handler)(std::move(*decision));
            else if (votes.complete())
                std::move(handler)(undecided(*quorum, votes, "renewal of " + request.claim->key()));
        }
        heal_if_renewed();
    }

    [[nodiscard]] std::optional<RenewReply> decide() const
    {
        if (votes.count<Renewed>() >= quorum->majority()) {
            Renewed all{request.ttl, Instant::max()};
            for (std::size_t node = 0; node < votes.size(); ++node)
                if (auto const* const renewed = votes.get<Renewed>(node)) {
                    all.since = std::min(all.since, renewed->since);
                    all.ttl = std::min(all.ttl, renewed->ttl);
                }
            return all;
        }
        if (votes.count<NotOwner>() >= quorum->veto())
            return NotOwner{};
        return std::nullopt;
    }

    void heal_if_renewed()
    {
        if (votes.count<Renewed>() < quorum->majority())
            return;
        for (std::size_t node = 0; node < quorum->size(); ++node)
            if (!healed[node] && votes.get<NotOwner>(node)) {
                healed[node] = true;
                heal(quorum->nodes()[node]);
            }
    }

    /** Restores the last token on a node that lost its data. */
    static void restore_token(redis::VoterBackend& node, ClaimPtr const& claim, Instant not_after)
    {
        if (claim->fencing_token == 0)
            return;
        redis::TokenRequest token{claim->range, claim->index, claim->owner, claim->fencing_token, not_after};
        node.accept_token(std::move(token), [](redis::TokenReply const&) {});
    }

    /** Claims the key only if it is free. Another holder there is in a minority, and will expire. */
    void heal(Quorum::Voter const& node) const
    {
        if (request.claim->mark.ended.load(std::memory_order_acquire))
            return;
        ClaimRequest taking;
        taking.range = redis::single_key(request.claim->range, request.claim->index);
        taking.owner = request.claim->owner;
        taking.ttl = request.ttl;
        taking.reuse_after = request.claim->reuse_after;
        taking.not_after = request.not_after;
        taking.fencing = false;
        node->claim(std::move(taking), [node, claim = request.claim, ttl = request.ttl](ClaimReply const& reply) {
            auto const* const granted = std::get_if<Granted>(&reply);
            if (granted == nullptr)
                return;
            if (!claim->mark.ended.load(std::memory_order_acquire)) {
                restore_token(*node, claim, granted->since + ttl);
                return;
            }
            // the lease was released meanwhile, and the release may have reached this node first
            ReleaseRequest back;
            back.claim = claim;
            back.not_after = granted->since + ttl;
            node->release(std::move(back), [](ReleaseReply const&) {});
        });
    }
};

} // namespace

void renew(QuorumPtr const& quorum, std::vector<RenewRequest> const& requests, RenewHandler handler)
{
    // each claim is decided separately, even if its nodes are asked in a common call
    auto const renewals = std::make_shared<std::vector<std::shared_ptr<Renewal>>>();
    renew_each(requests, std::move(handler), [&](RenewRequest request, ReplyHandler<RenewReply> reply_to) {
        renewals->push_back(std::make_shared<Renewal>(quorum, std::move(request), std::move(reply_to)));
    });
    for (std::size_t node = 0; node < quorum->size(); ++node)
        quorum->nodes()[node]->renew(requests, [renewals, node](std::span<RenewAnswer> answers) {
            for (auto& answer : answers)
                (*renewals)[answer.request]->voted(node, std::move(answer.reply));
        });
}

void release(QuorumPtr const& quorum, ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    auto const decide = [quorum](Votes<ReleaseReply> const& votes) -> std::optional<ReleaseReply> {
        if (votes.count<Released>() >= quorum->majority())
            return Released{};
        if (votes.count<NotOwner>() >= quorum->veto())
            return NotOwner{};
        return std::nullopt;
    };
    auto const conclude = [quorum, claim = request.claim](Votes<ReleaseReply> const& votes) {
        return undecided(*quorum, votes, "release of " + claim->key());
    };
    ask_all(quorum, &Backend::release, std::move(request), decide, conclude, std::move(handler));
}

void withdraw(QuorumPtr const& quorum, WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
{
    auto const decide = [quorum](Votes<WithdrawReply> const& votes) -> std::optional<WithdrawReply> {
        if (votes.count<Released>() >= quorum->majority())
            return Released{};
        return std::nullopt;
    };
    auto const conclude = [quorum, range = request.range](Votes<WithdrawReply> const& votes) {
        return undecided(*quorum, votes, "withdrawal from " + range->describe());
    };
    ask_all(quorum, &Backend::withdraw, std::move(request), decide, conclude, std::move(handler));
}

void evict(QuorumPtr const& quorum, EvictRequest request, ReplyHandler<EvictReply> handler)
{
    auto const decide = [quorum](Votes<EvictReply> const& votes) -> std::optional<EvictReply> {
        // enough evictions for a veto keep the holder from renewing, and its majority is gone
        if (votes.count<Evicted>() >= quorum->veto()) {
            Evicted all;
            for (std::size_t node = 0; node < votes.size(); ++node)
                if (auto const* const evicted = votes.get<Evicted>(node); evicted && evicted->remaining)
                    all.remaining = std::max(all.remaining.value_or(*evicted->remaining), *evicted->remaining);
            return all;
        }
        if (votes.count<NotOwner>() >= quorum->majority())
            return NotOwner{};
        return std::nullopt;
    };
    auto const conclude = [quorum, key = request.range->key(request.index)](Votes<EvictReply> const& votes) {
        return undecided(*quorum, votes, "eviction from " + key);
    };
    ask_all(quorum, &Backend::evict, std::move(request), decide, conclude, std::move(handler));
}

} // namespace tenure::redlock
