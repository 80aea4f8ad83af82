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
    auto& holding = holding_of(claim);
    if (holding.successors.empty()) {
        node.leases->give_back(holding.lease);
        return;
    }
    node.leases->discard(holding.lease);
    for (auto const& successor : holding.successors)
        node.leases->discard(successor.lease);
}

/** The revision of its last change says both that the key is the one that was claimed and that nobody wrote to it, as
 * who evicts does. It is not known while the key may have been bound to another lease. */
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
    Call call;
    call.path = "kv/txn";
    call.body = if_still_held(claim, key).then_delete(key).body();
    call.not_after = request.not_after;
    node->client->call(
        std::move(call), [node, held = request.claim, handler = std::move(handler)](Outcome outcome) mutable {
            std::move(handler)(read_reply(*node, *held, std::move(outcome)));
        });
}

} // namespace tenure::etcd
