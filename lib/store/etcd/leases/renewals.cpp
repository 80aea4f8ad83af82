// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
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

/// the server takes 128 operations in a transaction unless it is told otherwise
constexpr std::size_t keys_per_read = 100;

} // namespace

void Renewals::add(RenewRequest request, ReplyHandler<RenewReply> handler)
{
    auto const& claim = *request.claim;
    if (claim.handle == nullptr) {
        node_->runtime().post([handler = std::move(handler)]() mutable {
            std::move(handler)(RenewReply(Failure::refused(errc::store_refused, "a claim without a lease", true)));
        });
        return;
    }
    auto const lease = holding_of(claim).lease;
    if (lease->seconds != whole_seconds(request.lifetime())) {
        renew_with_new_lease(node_, std::move(request), std::move(handler));
        return;
    }
    Call call{"lease/keepalive", lease_body(lease->id), request.not_after};
    call.urgent = call.only_if_connected = true;
    call.unless_ended = request.claim;
    Pending pending{std::move(request), std::move(handler), {}, 0, 0, lease};
    node_->client->call(
        std::move(call), [self = shared_from_this(), pending = std::move(pending)](Outcome outcome) mutable {
            self->kept_alive(std::move(pending), std::move(outcome));
        });
}

void Renewals::kept_alive(Pending pending, Outcome outcome)
{
    auto const key = pending.request.claim->key();
    if (!outcome.good()) {
        std::move(pending.handler)(failure(std::move(outcome), node_->where(), key));
        return;
    }
    auto const reply = parse_lease(outcome.body);
    if (!reply) {
        // a stream that failed has the error in its body
        auto const error = classify(500, outcome.body);
        std::move(pending.handler)(
            RenewReply(Failure::unknown(error.error, node_->where() + ": " + key + ": " + error.text())));
        return;
    }
    pending.since = outcome.since;
    pending.raft_term = reply->header.raft_term;
    pending.ttl = reply->ttl;
    verify_soon(std::move(pending));
}

void Renewals::verify_soon(Pending pending)
{
    auto batch = to_verify_.lock();
    if (!batch) {
        batch = std::make_shared<Batch>();
        to_verify_ = batch;
        node_->runtime().post([self = shared_from_this(), batch] {
            self->to_verify_.reset();
            auto all = std::move(*batch);
            for (std::size_t i = 0; i < all.size(); i += keys_per_read) {
                auto const begin = all.begin() + static_cast<std::ptrdiff_t>(i);
                auto const end = all.begin() + static_cast<std::ptrdiff_t>(std::min(i + keys_per_read, all.size()));
                self->verify(Batch(std::make_move_iterator(begin), std::make_move_iterator(end)));
            }
        });
    }
    batch->push_back(std::move(pending));
}

void Renewals::verify(Batch batch)
{
    Transaction transaction;
    Call call{"kv/txn", {}, Instant::max()};
    call.reply_bytes = 4096;
    for (auto const& pending : batch) {
        transaction.then_read({pending.request.claim->key(), {}}, {0, true});
        call.not_after = call.not_after.no_later_than(pending.request.not_after);
        call.reply_bytes += reply_bytes(*pending.request.claim->range, 1);
    }
    call.body = transaction.body();
    call.urgent = true;
    node_->client->call(
        std::move(call), [self = shared_from_this(), batch = std::move(batch)](Outcome outcome) mutable {
            self->verified(std::move(batch), std::move(outcome));
        });
}

void Renewals::verified(Batch batch, Outcome outcome)
{
    if (batch.size() > 1 && outcome.delivery == Delivery::answered && !outcome.good() &&
        classify(outcome.status, outcome.body).error == errc::permission_denied) {
        // one key that may not be read (any more) is enough for that, and the others are to be proven all the same
        auto const middle = batch.begin() + static_cast<std::ptrdiff_t>(batch.size() / 2);
        verify(Batch(std::make_move_iterator(batch.begin()), std::make_move_iterator(middle)));
        verify(Batch(std::make_move_iterator(middle), std::make_move_iterator(batch.end())));
        return;
    }
    if (!outcome.good()) {
        for (auto& pending : batch) {
            auto reply = failure(Outcome(outcome), node_->where(), pending.request.claim->key());
            // the renewal itself was written
            if (reply.was_dropped())
                reply =
                    Failure::unknown(errc::store_unavailable, node_->where() + ": no time was left to prove a renewal");
            else if (reply.effect == Failure::Effect::not_sent)
                reply = Failure::unknown(reply.error, std::move(reply.detail));
            std::move(pending.handler)(std::move(reply));
        }
        return;
    }
    auto const reply = parse_transaction(outcome.body);
    if (reply)
        node_->leases->note(reply->header);
    for (std::size_t i = 0; i < batch.size(); ++i) {
        auto& pending = batch[i];
        if (!reply || reply->reads.size() != batch.size())
            std::move(pending.handler)(RenewReply(nonsense(node_->where(), pending.request.claim->key())));
        else
            judge(std::move(pending), reply->reads[i], reply->header);
    }
}

void Renewals::judge(Pending pending, RangeReply const& read, Header const& header)
{
    auto const claim = pending.request.claim;
    auto& holding = holding_of(*claim);
    auto const tell = [&](RenewReply reply) { std::move(pending.handler)(std::move(reply)); };
    auto const doubt = [&](char const* what) {
        return Failure::unknown(errc::store_unavailable, node_->where() + ": " + claim->key() + ": " + what);
    };
    if (read.found.empty() || read.found.front().create_revision != holding.created)
        return tell(NotOwner{});
    auto const& entry = read.found.front();
    if (entry.mod_revision < holding.modified)
        return tell(doubt("what was read is older than what is known of the key"));
    if (!recognize(*node_, holding, entry))
        return tell(NotOwner{});
    auto ttl = usable_ttl(pending.request.ttl, claim->reuse_after, pending.ttl);
    if (pending.lease != holding.lease) {
        // what was kept alive is an earlier lease of the key; what it bears now is known to be good for this
        pending.since = holding.lease->since;
        ttl = usable_ttl(pending.request.ttl, claim->reuse_after, holding.lease->granted);
        if (pending.since + ttl < holding.promised)
            return tell(doubt("the renewal was for an earlier lease of the key"));
    } else if (pending.ttl <= 0) {
        return tell(doubt("the server that renews does not know the lease, and the key still bears it"));
    } else if (pending.raft_term != header.raft_term) {
        return tell(doubt("another leader was elected during the renewal"));
    } else {
        holding.lease->since = std::max(holding.lease->since, pending.since);
    }
    auto const until = good_until(*claim, pending.since, ttl);
    if (until == pending.since + ttl) {
        holding.promised = std::max(holding.promised, until);
        leave_lease_of_earlier_term(node_, pending.request, header.raft_term);
        return tell(Renewed{ttl, pending.since});
    }
    auto without = until > holding.promised
                       ? RenewReply(Renewed{ttl, until - ttl})
                       : RenewReply(doubt("whether the key has moved to another lease is not known yet"));
    holding.promised = std::max(holding.promised, until);
    settle(node_, std::move(pending.request), std::move(without), std::move(pending.handler));
}

} // namespace tenure::etcd
