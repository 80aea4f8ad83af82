// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "release.hpp"

#include "gateway_error.hpp"

#include <utility>

namespace tenure::etcd
{

namespace
{

/** The key is gone: its lease is free for another claim, unless it is not known which one it was bound to. */
void lease_is_free(Node& node, Claim const& claim)
{
    if (claim.handle == nullptr)
        return;
    auto& holding = *static_cast<Holding*>(claim.handle.get());
    if (holding.successors.empty()) {
        node.leases->give_back(holding.lease);
        return;
    }
    node.leases->discard(holding.lease);
    for (auto const& successor : holding.successors)
        node.leases->discard(successor);
}

ReleaseReply read_reply(Node& node, Claim const& claim, Outcome&& outcome)
{
    if (!outcome.good())
        return failure<ReleaseReply>(std::move(outcome), node.where(), claim.key());
    auto const reply = parse_transaction(outcome.body);
    if (!reply)
        return nonsense(node.where(), claim.key());
    if (!reply->succeeded)
        return NotOwner{};
    lease_is_free(node, claim);
    return Released{};
}

} // namespace

void release(NodePtr const& node, ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    auto const& claim = *request.claim;
    auto const key = claim.key();
    Transaction transaction;
    if (claim.handle != nullptr)
        transaction.if_created_at(key, static_cast<Holding*>(claim.handle.get())->created);
    transaction.if_value(key, claim.owner).then_delete(key);
    Call call;
    call.path = "kv/txn";
    call.body = transaction.body();
    call.not_after = request.not_after;
    node->client->call(
        std::move(call), [node, held = request.claim, handler = std::move(handler)](Outcome outcome) mutable {
            std::move(handler)(read_reply(*node, *held, std::move(outcome)));
        });
}

} // namespace tenure::etcd
