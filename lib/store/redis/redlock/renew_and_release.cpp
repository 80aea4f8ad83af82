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

class Renewal final : public QuorumRequest<RenewRequest, RenewReply>
{
public:
    using QuorumRequest::QuorumRequest;

private:
    [[nodiscard]] std::string what() const override { return "renewal of " + request_.claim->key(); }

    [[nodiscard]] std::optional<RenewReply> decide() const override
    {
        if (votes_.count<Renewed>() >= quorum_->majority()) {
            Renewed all{request_.ttl, Instant::max()};
            for (std::size_t node = 0; node < votes_.size(); ++node)
                if (auto const* const renewed = votes_.get<Renewed>(node)) {
                    all.since = std::min(all.since, renewed->since);
                    all.ttl = std::min(all.ttl, renewed->ttl);
                }
            return all;
        }
        if (votes_.count<NotOwner>() >= quorum_->veto())
            return NotOwner{};
        return std::nullopt;
    }

    void afterwards() override
    {
        if (votes_.count<Renewed>() < quorum_->majority())
            return;
        healed_.resize(quorum_->size());
        for (std::size_t node = 0; node < quorum_->size(); ++node)
            if (!healed_[node] && votes_.get<NotOwner>(node)) {
                healed_[node] = true;
                heal(quorum_->nodes()[node]);
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
        if (request_.claim->mark.ended.load(std::memory_order_acquire))
            return;
        ClaimRequest taking;
        taking.range = redis::single_key(request_.claim->range, request_.claim->index);
        taking.owner = request_.claim->owner;
        taking.ttl = request_.ttl;
        taking.reuse_after = request_.claim->reuse_after;
        taking.not_after = request_.not_after;
        taking.fencing = false;
        node->claim(std::move(taking), [node, claim = request_.claim, ttl = request_.ttl](ClaimReply const& reply) {
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

    /// nodes on which the claim was repeated
    std::vector<bool> healed_;
};

class Release final : public QuorumRequest<ReleaseRequest, ReleaseReply>
{
public:
    using QuorumRequest::QuorumRequest;

private:
    [[nodiscard]] std::string what() const override { return "release of " + request_.claim->key(); }

    [[nodiscard]] std::optional<ReleaseReply> decide() const override
    {
        if (votes_.count<Released>() >= quorum_->majority())
            return Released{};
        if (votes_.count<NotOwner>() >= quorum_->veto())
            return NotOwner{};
        return std::nullopt;
    }
};

class Withdrawal final : public QuorumRequest<WithdrawRequest, WithdrawReply>
{
public:
    using QuorumRequest::QuorumRequest;

private:
    [[nodiscard]] std::string what() const override { return "withdrawal from " + request_.range->describe(); }

    [[nodiscard]] std::optional<WithdrawReply> decide() const override
    {
        if (votes_.count<Released>() >= quorum_->majority())
            return Released{};
        return std::nullopt;
    }
};

class Eviction final : public QuorumRequest<EvictRequest, EvictReply>
{
public:
    using QuorumRequest::QuorumRequest;

private:
    [[nodiscard]] std::string what() const override { return "eviction from " + request_.range->key(request_.index); }

    [[nodiscard]] std::optional<EvictReply> decide() const override
    {
        // enough evictions for a veto keep the holder from renewing, and its majority is gone
        if (votes_.count<Evicted>() >= quorum_->veto()) {
            Evicted all;
            for (std::size_t node = 0; node < votes_.size(); ++node)
                if (auto const* const evicted = votes_.get<Evicted>(node); evicted && evicted->remaining)
                    all.remaining = std::max(all.remaining.value_or(*evicted->remaining), *evicted->remaining);
            return all;
        }
        if (votes_.count<NotOwner>() >= quorum_->majority())
            return NotOwner{};
        return std::nullopt;
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
    std::make_shared<Release>(quorum, std::move(request), std::move(handler))->start(&Backend::release);
}

void withdraw(QuorumPtr const& quorum, WithdrawRequest request, ReplyHandler<WithdrawReply> handler)
{
    std::make_shared<Withdrawal>(quorum, std::move(request), std::move(handler))->start(&Backend::withdraw);
}

void evict(QuorumPtr const& quorum, EvictRequest request, ReplyHandler<EvictReply> handler)
{
    std::make_shared<Eviction>(quorum, std::move(request), std::move(handler))->start(&Backend::evict);
}

} // namespace tenure::redlock
