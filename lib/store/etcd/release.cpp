// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Release, detachment and withdrawal on etcd.
#include "operations.hpp"
#include "steps.hpp"
#include "store/etcd/http/limits.hpp"

#include <store/ended_claim.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

namespace tenure::etcd
{

namespace
{

/// of releases and withdrawals
Sender sender()
{
    return {.line = Line::later_steps};
}

/** Makes a transaction that acts only if the key still belongs to the claim.
 *
 *  An unchanged revision of the last change proves that the key is the claimed one and that no other request, such as
 *  an eviction, wrote to it. This revision is unknown while the key may have moved to another lease. */
Transaction if_still_held(Claim const& claim, std::string const& key)
{
    Transaction transaction;
    auto const* const held = static_cast<HeldKey const*>(claim.handle.get());
    if (held != nullptr && held->successors.empty())
        return transaction.if_modified_at(key, held->modified);
    if (held != nullptr)
        transaction.if_created_at(key, held->created);
    return transaction.if_value(key, value_for(claim, claim.owner));
}

/** The claim's key has left its lease, which is free for another claim unless it is unknown which lease it was. */
void lease_is_free(ClusterContext& cluster, Claim const& claim)
{
    if (claim.handle == nullptr)
        return;
    auto& held = held_key_of(claim);
    if (held.successors.empty()) {
        cluster.leases->give_back(held.lease);
        return;
    }
    cluster.leases->discard(held.lease);
    for (auto const& successor : held.successors)
        cluster.leases->discard(successor.lease);
}

/** The key as an earlier request with a lost answer has left it; null: unchanged. */
KeyValue const* kept_before(TransactionReply const& reply, std::string const& value)
{
    if (reply.reads.size() != 1 || reply.reads.front().found.size() != 1)
        return nullptr;
    auto const& found = reply.reads.front().found.front();
    return found.value == value ? &found : nullptr;
}

} // namespace

store::Request<ReleaseReply> release(ClusterPtr cluster, ReleaseRequest request)
{
    auto const& claim = *request.claim;
    auto const key = entry_of(claim);
    bool const keeps = request.keep_for.has_value();
    // for a key that stays taken; null: the key is deleted, or kept under its own lease
    LeasePtr lease;
    if (auto const stays_for = keeps ? *request.keep_for : claim.reuse_after;
        stays_for != std::chrono::milliseconds{0}) {
        auto new_lease = grant(cluster, stays_for, request.not_after, sender());
        new_lease.on_failure(not_written);
        lease = co_await new_lease;
    }

    auto const value = value_for(claim, keeps ? kept_value(claim.owner) : resting_value(claim.owner));
    auto transaction = if_still_held(claim, key);
    if (lease != nullptr)
        transaction.then_put(key, value, lease->id);
    else if (keeps)
        transaction.then_put_in_its_lease(key, value);
    else
        transaction.then_delete(key);
    if (keeps)
        transaction.else_read({key, {}}, {});
    HttpRequest http_request{"kv/txn", transaction.body(), request.not_after, sender()};
    if (keeps)
        http_request.reply_bytes = most_page_bytes;
    auto end = send(cluster->client, std::move(http_request));
    auto outcome = co_await end;

    auto reply = read_reply(std::move(outcome), cluster->where(), key, parse_transaction);
    if (auto* const failed = std::get_if<Failure>(&reply)) {
        // with an unknown outcome the key may have the lease
        if (lease != nullptr && !failed->may_take_effect())
            cluster->leases->discard(lease);
        co_return std::move(*failed);
    }
    auto const& ended = std::get<TransactionReply>(reply);
    auto const* const before = keeps && !ended.succeeded ? kept_before(ended, value) : nullptr;
    if (ended.succeeded && (lease != nullptr || !keeps))
        lease_is_free(*cluster, claim);
    if (!ended.succeeded && lease != nullptr && (before == nullptr || before->lease != lease->id))
        cluster->leases->discard(lease);
    if (!ended.succeeded && before == nullptr)
        co_return NotOwner{};
    co_return Released{};
}

store::Request<WithdrawReply> withdraw(ClusterPtr cluster, WithdrawRequest request)
{
    auto const state = cluster->owners.find(request.owner);
    if (state != nullptr) {
        state->withdrawn = true;
        // what is not sent never will be; then only what was sent is to be ended
        cluster->client->drop_unsent(state.get());
        auto turn = store::next_turn(cluster->runtime());
        co_await turn;
    }
    if (state != nullptr && state->lease != nullptr) {
        state->over_at = cluster->runtime().now() + Clock::duration(std::chrono::seconds(state->lease->granted));
        // the key ends with the lease, and a pending put fails without it
        auto end = revoke(cluster, state->lease, request.not_after, sender());
        auto const released = co_await end;
        state->lease = nullptr;
        cluster->owners.forget(request.owner, state);
        co_return released;
    }

    for (std::optional<Keys> keys = whole(*request.range); keys;) {
        auto read = read_page(cluster, *request.range, *keys, false, request.not_after, sender());
        auto const page = co_await read;
        auto const entry = std::ranges::find_if(page.found, [&](KeyValue const& found) {
            auto const owner = request.range->shares ? read_place(found.value).owner : found.value;
            return owner == request.owner && index_of(*request.range, found.key);
        });
        if (entry == page.found.end()) {
            keys = rest_of(*keys, page);
            continue;
        }

        LeasePtr resting_lease;
        if (request.reuse_after != std::chrono::milliseconds{0}) {
            auto new_lease = grant(cluster, request.reuse_after, request.not_after, sender());
            new_lease.on_failure(not_written);
            resting_lease = co_await new_lease; // an unused lease expires
        }
        Transaction transaction;
        transaction.if_created_at(entry->key, entry->create_revision).if_value(entry->key, entry->value);
        if (resting_lease == nullptr)
            transaction.then_delete(entry->key);
        else
            transaction.then_put(entry->key, resting_value(request.owner), resting_lease->id);
        HttpRequest http_request{"kv/txn", transaction.body(), request.not_after, sender()};
        auto end = ask(cluster, std::move(http_request), entry->key, parse_transaction);
        co_await end;
        // there may be another one
        keys->key = next_key(entry->key);
        if (keys->key >= keys->end)
            break;
    }
    co_return Released{};
}

} // namespace tenure::etcd
