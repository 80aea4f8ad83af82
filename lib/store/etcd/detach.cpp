// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "detach.hpp"

#include "range_keys.hpp"
#include "release.hpp"
#include "store/etcd/http/gateway_error.hpp"

#include <store/ended_claim.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <variant>

namespace tenure::etcd
{

namespace
{

/** What an earlier request, whose answer was lost, has made of the key; null: nothing. */
KeyValue const* kept_before(TransactionReply const& reply, std::string const& value)
{
    if (reply.reads.size() != 1 || reply.reads.front().found.size() != 1)
        return nullptr;
    auto const& found = reply.reads.front().found.front();
    return found.value == value ? &found : nullptr;
}

/** `lease`: what the key is bound to from now on; null: what it is bound to already. */
void keep(NodePtr const& node, ReleaseRequest const& request, LeasePtr lease, ReplyHandler<ReleaseReply> handler)
{
    auto const& claim = *request.claim;
    auto const key = claim.key();
    auto value = kept_value(claim.owner);
    auto transaction = if_still_held(claim, key);
    if (lease != nullptr)
        transaction.then_put(key, value, lease->id);
    else
        transaction.then_put_in_its_lease(key, value);
    Call call;
    call.path = "kv/txn";
    call.body = transaction.else_read({key, {}}, {}).body();
    call.not_after = request.not_after;
    call.reply_bytes = bytes_with_values;
    node->client->call(
        std::move(call), [node, held = request.claim, value = std::move(value), lease = std::move(lease),
                          handler = std::move(handler)](Outcome outcome) mutable {
            if (!outcome.good()) {
                auto failed = failure(std::move(outcome), node->where(), held->key());
                // where the outcome is unknown the key may bear it
                if (lease != nullptr && !failed.may_take_effect())
                    node->leases->discard(lease);
                std::move(handler)(std::move(failed));
                return;
            }
            auto const reply = parse_transaction(outcome.body);
            if (!reply) {
                std::move(handler)(ReleaseReply(nonsense(node->where(), held->key())));
                return;
            }
            auto const* const before = kept_before(*reply, value);
            if (reply->succeeded && lease != nullptr)
                lease_is_free(*node, *held);
            else if (lease != nullptr && (before == nullptr || before->lease != lease->id))
                node->leases->discard(lease);
            std::move(handler)(
                reply->succeeded || before != nullptr ? ReleaseReply(Released{}) : ReleaseReply(NotOwner{}));
        });
}

} // namespace

void detach(NodePtr const& node, ReleaseRequest request, ReplyHandler<ReleaseReply> handler)
{
    auto const keep_for = *request.keep_for;
    if (keep_for == std::chrono::milliseconds{0}) {
        keep(node, request, nullptr, std::move(handler));
        return;
    }
    auto const not_after = request.not_after;
    node->leases->grant(
        keep_for, not_after,
        [node, request = std::move(request), handler = std::move(handler)](Leases::Taken taken) mutable {
            if (auto* const lease = std::get_if<LeasePtr>(&taken))
                keep(node, request, std::move(*lease), std::move(handler));
            else
                std::move(handler)(without_lease(std::move(taken)));
        });
}

} // namespace tenure::etcd
