// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "release.hpp"

#include "detach.hpp"
#include "store/etcd/http/gateway_error.hpp"

#include <store/ended_claim.hpp>

#include <chrono>
#include <utility>
#include <variant>

namespace tenure::etcd
{

namespace
{

ReleaseReply read_reply(Node& node, Claim const& claim, Outcome&& outcome)
{
    if (!outcome.good())
        return failure(std::move(outcome), node.where(), claim.key());
    auto const reply = parse_transaction(outcome.body);
    if (!reply)
        return nonsense(node.where(), claim.key());
    if (!reply->succeeded)
        return NotOwner{};
    lease_is_free(node, claim);
    return Released{};
}

/** `rest`: the lease under which the key rests; null: it is deleted. */
void end(NodePtr const& node, ReleaseRequest const& request, LeasePtr rest, ReplyHandler<ReleaseReply> handler)
{
    auto const& claim = *request.claim;
    auto const key = claim.key();
    auto transaction = if_still_held(claim, key);
    end_claim(transaction, key, claim.owner, rest);
    Call call;
    call.path = "kv/txn";
    call.body = transaction.body();
    call.not_after = request.not_after;
    node->client->call(
        std::move(call),
        [node, held = request.claim, rest = std::move(rest), handler = std::move(handler)](Outcome outcome) mutable {
            auto reply = read_reply(*node, *held, std::move(outcome));
            // where the outcome is unknown the key may bear it
            if (rest != nullptr && !std::holds_alternative<Released>(reply) &&
                !failed_as(reply, Failure::Effect::unknown))
                node->leases->discard(rest);
            std::move(handler)(std::move(reply));
        });
}

} // namespace

void lease_is_free(Node& node, Claim const& claim)
{
    if (claim.handle == nullptr)
        return;
    auto& holding = holding_of(claim);
    if (holding.successors.empty()) {
        node.leases->give_back(holding.lease);
        return;
    }
    node.leases->discard(holding.lease);
    for (auto const& successor : holding.successors)
        node.leases->discard(successor.lease);
}

Transaction if_still_held(Claim const& claim, std::string const& key)
{
    Transaction transaction;
    auto const* const holding = static_cast<Holding const*>(claim.handle.get());
    if (holding != nullptr && holding->successors.empty())
        return transaction.if_modified_at(key, holding->modified);
    if (holding != nullptr)
        transaction.if_created_at(key, holding->created);
    return transaction.if_value(key, claim.owner);
}

void end_claim(Transaction& transaction, std::string const& key, std::string const& owner, LeasePtr const& rest)
{
    if (rest == nullptr)
        transaction.then_delete(key);
    else
        transaction.then_put(key, resting_value(owner), rest->id);
}

void release(NodePtr const& node, ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    if (request.keep_for) {
        detach(node, std::move(request), std::move(handler));
        return;
    }
    auto const reuse_after = request.claim->reuse_after;
    if (reuse_after == std::chrono::milliseconds{0}) {
        end(node, request, nullptr, std::move(handler));
        return;
    }
    auto const not_after = request.not_after;
    node->leases->grant(
        reuse_after, not_after,
        [node, request = std::move(request), handler = std::move(handler)](Leases::Taken taken) mutable {
            if (auto* const lease = std::get_if<LeasePtr>(&taken))
                end(node, request, std::move(*lease), std::move(handler));
            else
                std::move(handler)(without_lease(std::move(taken)));
        });
}

} // namespace tenure::etcd
