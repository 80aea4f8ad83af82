// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Proofs: transactions that compare or read held keys.
#include "proofs.hpp"

#include "store/etcd/http/exchange.hpp"
#include "store/etcd/http/limits.hpp"
#include "store/etcd/steps.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <iterator>

namespace tenure::etcd
{

namespace
{

/// of a reply without the keys that it contains
constexpr std::size_t reply_without_keys = 4096;

} // namespace

void Proofs::add(ClaimPtr claim, Instant not_after, Handler handler)
{
    add({std::move(claim), not_after, std::move(handler)});
}

void Proofs::add(Wanted wanted)
{
    if (open_ == nullptr)
        open_ = std::make_shared<Batch>();
    auto const batch = open_;
    batch->wanted.push_back(std::move(wanted));
    bool const full = batch->wanted.size() == keys_per_proof;
    if (full)
        open_ = nullptr;
    if (batch->queued)
        return;
    if (full)
        send(batch);
    else
        flush_soon();
}

bool Proofs::compose(Batch& batch, HttpRequest& request)
{
    Transaction transaction;
    request.reply_bytes = reply_without_keys;
    auto const read = [&](Claim const& claim) {
        transaction.then_read({entry_of(claim), {}}, {0, true});
        request.reply_bytes += reply_bytes(*claim.range, 1);
    };
    for (auto& wanted : batch.wanted) {
        auto const& held = held_key_of(*wanted.claim);
        if (batch.reads_all || !held.successors.empty()) {
            wanted.compared.reset();
            read(*wanted.claim);
            ++batch.reads;
            continue;
        }
        wanted.compared = KeyValue{entry_of(*wanted.claim), {}, held.created, held.modified, held.lease->id};
        transaction.if_modified_at(wanted.compared->key, held.modified);
    }
    // a transaction that only compares would be answered by this member alone
    if (batch.reads == 0)
        read(*batch.wanted.front().claim);
    request.body = transaction.body();
    return true;
}

void Proofs::send_part(Batch& batch, std::size_t begin, std::size_t end, bool reads_all)
{
    auto const part = std::make_shared<Batch>();
    auto const first = std::make_move_iterator(batch.wanted.begin());
    part->wanted.assign(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end));
    part->reads_all = reads_all;
    send(part);
}

void Proofs::ended(Batch batch, Outcome outcome)
{
    auto const size = batch.wanted.size();
    if (size > 1 && outcome.delivery == Delivery::answered && !outcome.good() &&
        classify(outcome.status, outcome.body).error == errc::permission_denied) {
        // a single unreadable key fails the whole transaction, so the others are proven separately
        send_part(batch, 0, size / 2, batch.reads_all);
        send_part(batch, size / 2, size, batch.reads_all);
        return;
    }
    auto const where = client_->where();
    if (outcome.good()) {
        auto reply = parse_transaction(outcome.body);
        bool const complete =
            reply && (!reply->succeeded || reply->reads.size() == std::max<std::size_t>(batch.reads, 1));
        if (complete) {
            answered(std::move(batch), std::move(*reply));
            return;
        }
        for (auto& wanted : batch.wanted)
            wanted.handler(malformed_reply(where, wanted.claim->key()));
        return;
    }
    for (auto& wanted : batch.wanted)
        if (may_wait_longer(wanted, outcome))
            add(std::move(wanted));
        else
            wanted.handler(failure(outcome, where, wanted.claim->key()));
}

void Proofs::answered(Batch batch, TransactionReply reply)
{
    leases_->note(reply.header);
    if (!reply.succeeded) {
        if (!batch.reads_all) {
            send_part(batch, 0, batch.wanted.size(), true);
            return;
        }
        for (auto& wanted : batch.wanted)
            wanted.handler(malformed_reply(client_->where(), wanted.claim->key()));
        return;
    }
    std::size_t read = 0;
    for (auto& wanted : batch.wanted) {
        RangeReply found;
        if (wanted.compared)
            found.found.push_back(std::move(*wanted.compared));
        else
            found = std::move(reply.reads[read++]);
        found.header = reply.header;
        wanted.handler(std::move(found));
    }
}

} // namespace tenure::etcd
