// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// KeepAlives: batches, and their answers.
#include "keep_alives.hpp"

#include "store/etcd/http/exchange.hpp"
#include "store/etcd/http/limits.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>

namespace tenure::etcd
{

void KeepAlives::add(LeaseId lease, ClaimPtr claim, Instant not_after, Handler handler)
{
    if (auto const found = unsent_.find(lease); found != unsent_.end()) {
        auto& wanted = found->second.first->wanted[found->second.second];
        wanted.not_after = std::max(wanted.not_after, not_after);
        wanted.handlers.push_back(std::move(handler));
        return;
    }
    Wanted wanted{lease, std::move(claim), not_after, {}};
    wanted.handlers.push_back(std::move(handler));
    add(std::move(wanted));
}

void KeepAlives::add(Wanted wanted)
{
    auto const bytes = lease_body(wanted.lease).size();
    if (open_ == nullptr || open_->bytes + bytes > most_keep_alive_bytes) {
        // full: it does not wait for its time
        if (open_ != nullptr && !open_->queued)
            send(BatchPtr(open_));
        open_ = std::make_shared<Batch>();
    }
    unsent_[wanted.lease] = {open_.get(), open_->wanted.size()};
    open_->bytes += bytes;
    open_->wanted.push_back(std::move(wanted));
    if (!open_->queued)
        flush_soon();
}

void KeepAlives::shut(BatchPtr const& batch)
{
    Batches::shut(batch);
    for (auto const& wanted : batch->wanted)
        if (auto const found = unsent_.find(wanted.lease); found != unsent_.end() && found->second.first == batch.get())
            unsent_.erase(found);
}

bool KeepAlives::compose(Batch& batch, HttpRequest& request)
{
    auto const now = client_->runtime().now();
    std::vector<Wanted> kept;
    for (auto& wanted : batch.wanted)
        if (wanted.claim->mark.ended.load(std::memory_order_acquire)) {
            answer_later(std::move(wanted), Failure::not_sent(errc::released, "the lease is over"));
        } else if (now >= wanted.not_after) {
            answer_later(std::move(wanted), Failure::dropped());
        } else {
            request.body += lease_body(wanted.lease);
            kept.push_back(std::move(wanted));
        }
    batch.wanted = std::move(kept);
    return !batch.wanted.empty();
}

void KeepAlives::ended(Batch batch, Outcome outcome)
{
    if (outcome.good()) {
        answered(std::move(batch), outcome);
        return;
    }
    std::vector<Wanted> failed;
    for (auto& wanted : batch.wanted)
        if (may_wait_longer(wanted, outcome))
            add(std::move(wanted));
        else
            failed.push_back(std::move(wanted));
    fail(std::move(failed), outcome);
}

void KeepAlives::answered(Batch batch, Outcome const& outcome)
{
    auto const replies = parse_leases(outcome.body);
    auto const count = std::min(replies.size(), batch.wanted.size());
    std::size_t next = 0;
    for (; next < count && replies[next].id == batch.wanted[next].lease; ++next)
        answer(batch.wanted[next], Kept{replies[next], outcome.since});
    if (next == 0) {
        // a failed stream has the error in its body
        auto const error = classify(500, outcome.body);
        for (auto& wanted : batch.wanted)
            answer(
                wanted,
                Failure::unknown(error.error, client_->where() + ": " + wanted.claim->key() + ": " + error.text()));
        return;
    }
    // the server has not read the others
    for (; next < batch.wanted.size(); ++next)
        add(std::move(batch.wanted[next]));
}

void KeepAlives::answer(Wanted& wanted, Reply const& reply)
{
    for (auto& handler : std::exchange(wanted.handlers, {}))
        handler(Reply(reply));
}

void KeepAlives::answer_later(Wanted wanted, Failure failure)
{
    client_->runtime().post([wanted = std::move(wanted), failure = std::move(failure)]() mutable {
        answer(wanted, Reply(std::move(failure)));
    });
}

void KeepAlives::fail(std::vector<Wanted> all, Outcome const& outcome)
{
    for (auto& wanted : all)
        answer(wanted, failure(outcome, client_->where(), wanted.claim->key()));
}

} // namespace tenure::etcd
