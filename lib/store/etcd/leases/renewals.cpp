// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Renewals: keep-alives, and the reads that prove them.
#include "rebind.hpp"

#include "store/etcd/http/exchange.hpp"
#include "store/etcd/operations.hpp"
#include "store/etcd/steps.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>

namespace tenure::etcd
{

namespace
{

/** Decides whether a read of the key proves the keep-alive of its lease; `good_until` may limit the result.
 *  @param since  before the keep-alive was written */
RenewReply judge(
    ClusterContext& cluster, RenewRequest const& request, LeasePtr const& lease, Instant since, LeaseReply const& kept,
    RangeReply const& read)
{
    auto const& claim = *request.claim;
    auto const key = entry_of(claim);
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

store::Request<RenewReply> renew_in_steps(ClusterPtr cluster, RenewRequest request)
{
    auto const key = entry_of(*request.claim);
    auto& held = held_key_of(*request.claim);
    auto const lease = held.lease;
    store::Step<KeepAlives::Reply> keep_alive([&](KeepAlives::Handler handler) {
        cluster->keep_alives->add(lease->id, request.claim, request.not_after, std::move(handler));
    });
    auto const kept = co_await keep_alive;

    store::Step<Proofs::Reply> proof(
        [&](Proofs::Handler handler) { cluster->proofs->add(request.claim, request.not_after, std::move(handler)); });
    proof.on_failure([cluster](Failure failed) { return unproven(std::move(failed), cluster->where()); });
    auto const read = co_await proof;
    auto reply = judge(*cluster, request, lease, kept.since, kept.reply, read);
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

} // namespace

void renew(ClusterPtr const& cluster, RenewRequest request, ReplyHandler<RenewReply> handler)
{
    auto const& claim = *request.claim;
    if (claim.handle == nullptr) {
        cluster->runtime().post([handler = std::move(handler), waits = claim.range->shares]() mutable {
            if (waits)
                handler(NotOwner{}); // a place that waits
            else
                handler(Failure::refused(errc::store_refused, "a claim without a lease", true));
        });
        return;
    }
    auto& held = held_key_of(claim);
    if (held.lease->seconds == whole_seconds(request.lifetime())) {
        renew_in_steps(cluster, std::move(request)).start(std::move(handler));
        return;
    }
    // A server's lease has a fixed ttl. A holder that requests less gets less from now on.
    held.promised = std::min(held.promised, cluster->runtime().now() + request.ttl);
    move_to_new_lease(cluster, std::move(request), true).start(std::move(handler));
}

} // namespace tenure::etcd
