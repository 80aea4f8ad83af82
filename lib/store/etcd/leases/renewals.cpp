// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Renewals: keep-alives, and the reads that prove them.
#include "renewals.hpp"

#include "store/etcd/http/exchange.hpp"
#include "store/etcd/steps.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tenure::etcd
{

namespace
{

/// by default the server accepts 128 operations in a transaction (--max-txn-ops)
constexpr std::size_t keys_per_read = 100;

/** Decides whether a read of the key proves the keep-alive of its lease; `good_until` may limit the result.
 *  @param since  before the keep-alive was written */
RenewReply judge(
    ClusterContext& cluster, RenewRequest const& request, LeasePtr const& lease, Instant since, LeaseReply const& kept,
    RangeReply const& read)
{
    auto const& claim = *request.claim;
    auto const key = claim.key();
    auto& held = held_key_of(claim);
    if (read.found.empty() || read.found.front().create_revision != held.created)
        return NotOwner{};
    auto const& entry = read.found.front();
    if (entry.mod_revision < held.modified)
        return doubt(cluster, key, "what was read is older than what is known of the key");
    if (!recognize(cluster, held, entry))
        return NotOwner{};
    if (lease != held.lease) {
        // the keep-alive was for an earlier lease of the key; its current lease is known to last this long
        Renewed const renewed{usable_ttl(request.ttl, claim.reuse_after, held.lease->granted), held.lease->since};
        if (renewed.since + renewed.ttl < held.promised)
            return doubt(cluster, key, "the renewal was for an earlier lease of the key");
        return renewed;
    }
    if (kept.ttl <= 0)
        return doubt(cluster, key, "the server that renews does not know the lease, and the key still bears it");
    if (kept.header.raft_term != read.header.raft_term)
        return doubt(cluster, key, "another leader was elected during the renewal");
    lease->since = std::max(lease->since, since);
    return Renewed{usable_ttl(request.ttl, claim.reuse_after, kept.ttl), since};
}

/** Makes the failure of a written renewal that is not proven: it may have taken effect. */
Failure unproven(Failure failed, std::string const& where)
{
    if (failed.was_dropped())
        return Failure::unknown(errc::store_unavailable, where + ": no time was left to prove a renewal");
    if (failed.effect == Failure::Effect::not_sent)
        return Failure::unknown(failed.error, std::move(failed.detail));
    return failed;
}

} // namespace

void Renewals::add(RenewRequest request, ReplyHandler<RenewReply> handler)
{
    auto const& claim = *request.claim;
    if (claim.handle == nullptr) {
        cluster_->runtime().post([handler = std::move(handler)]() mutable {
            handler(Failure::refused(errc::store_refused, "a claim without a lease", true));
        });
        return;
    }
    auto& held = held_key_of(claim);
    if (held.lease->seconds == whole_seconds(request.lifetime())) {
        renew(shared_from_this(), std::move(request)).start(std::move(handler));
        return;
    }
    // A server's lease has a fixed ttl. A holder that requests less gets less from now on.
    held.promised = std::min(held.promised, cluster_->runtime().now() + request.ttl);
    move_to_new_lease(cluster_, std::move(request), true).start(std::move(handler));
}

store::Coroutine<RenewReply> Renewals::renew(std::shared_ptr<Renewals> self, RenewRequest request)
{
    auto const cluster = self->cluster_;
    auto const key = request.claim->key();
    auto& held = held_key_of(*request.claim);
    auto const lease = held.lease;
    HttpRequest http_request{"lease/keepalive", lease_body(lease->id), request.not_after};
    http_request.urgent = http_request.only_if_connected = true;
    http_request.unless_ended = request.claim;
    auto keep_alive = send(cluster->client, std::move(http_request));
    auto outcome = co_await keep_alive;
    if (!outcome.good())
        co_return failure(std::move(outcome), cluster->where(), key);
    auto const kept = parse_lease(outcome.body);
    if (!kept) {
        // a failed stream has the error in its body
        auto const error = classify(500, outcome.body);
        co_return Failure::unknown(error.error, cluster->where() + ": " + key + ": " + error.text());
    }

    auto proof = self->read_key(request);
    auto const read = co_await proof;
    auto reply = judge(*cluster, request, lease, outcome.since, *kept, read);
    auto const* const renewed = std::get_if<Renewed>(&reply);
    if (renewed == nullptr)
        co_return reply;
    auto const until = good_until(*request.claim, renewed->since, renewed->ttl);
    auto const promised = std::exchange(held.promised, std::max(held.promised, until));
    if (until == renewed->since + renewed->ttl) {
        leave_lease_of_earlier_term(cluster, request, read.header.raft_term);
        co_return reply;
    }
    // An earlier move with unknown outcome limits the renewal. Another move supersedes it.
    if (until > promised)
        reply = Renewed{renewed->ttl, until - renewed->ttl};
    else
        reply = doubt(*cluster, key, "whether the key has moved to another lease is not known yet");
    if (!may_move(*cluster, request))
        co_return reply;
    auto move = as_step(move_to_new_lease(cluster, request, true));
    auto moved = co_await move;
    if (std::holds_alternative<Failure>(moved))
        co_return reply;
    co_return moved;
}

store::Step<std::variant<RangeReply, Failure>> Renewals::read_key(RenewRequest const& request)
{
    return store::Step<std::variant<RangeReply, Failure>>(
        [self = shared_from_this(), claim = request.claim,
         not_after = request.not_after](OneShot<void(std::variant<RangeReply, Failure>&&)> handler) mutable {
            self->verify_soon({std::move(claim), not_after, std::move(handler)});
        });
}

void Renewals::verify_soon(PendingProof proof)
{
    auto batch = to_verify_.lock();
    if (!batch) {
        batch = std::make_shared<Batch>();
        to_verify_ = batch;
        cluster_->runtime().post([self = shared_from_this(), batch] {
            self->to_verify_.reset();
            auto all = std::move(*batch);
            for (std::size_t i = 0; i < all.size(); i += keys_per_read)
                self->verify(take(all, i, std::min(i + keys_per_read, all.size())));
        });
    }
    batch->push_back(std::move(proof));
}

Renewals::Batch Renewals::take(Batch& batch, std::size_t begin, std::size_t end)
{
    auto const first = std::make_move_iterator(batch.begin());
    return Batch(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end));
}

void Renewals::verify(Batch batch)
{
    Transaction transaction;
    HttpRequest http_request{"kv/txn", {}, Instant::max()};
    http_request.reply_bytes = 4096;
    for (auto const& proof : batch) {
        transaction.then_read({proof.claim->key(), {}}, {0, true});
        http_request.not_after = http_request.not_after.no_later_than(proof.not_after);
        http_request.reply_bytes += reply_bytes(*proof.claim->range, 1);
    }
    http_request.body = transaction.body();
    http_request.urgent = true;
    cluster_->client->send(
        std::move(http_request), [self = shared_from_this(), batch = std::move(batch)](Outcome outcome) mutable {
            self->verified(std::move(batch), std::move(outcome));
        });
}

void Renewals::verified(Batch batch, Outcome outcome)
{
    if (batch.size() > 1 && outcome.delivery == Delivery::answered && !outcome.good() &&
        classify(outcome.status, outcome.body).error == errc::permission_denied) {
        // a single unreadable key fails the whole read, so the others are read separately
        auto const middle = batch.size() / 2;
        verify(take(batch, 0, middle));
        verify(take(batch, middle, batch.size()));
        return;
    }
    auto const where = cluster_->where();
    auto reply = outcome.good() ? parse_transaction(outcome.body) : std::nullopt;
    if (reply)
        cluster_->leases->note(reply->header);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        auto& proof = batch[i];
        if (!outcome.good()) {
            proof.handler(unproven(failure(Outcome(outcome), where, proof.claim->key()), where));
        } else if (!reply || reply->reads.size() != batch.size()) {
            proof.handler(malformed_reply(where, proof.claim->key()));
        } else {
            reply->reads[i].header = reply->header;
            proof.handler(std::move(reply->reads[i]));
        }
    }
}

} // namespace tenure::etcd
