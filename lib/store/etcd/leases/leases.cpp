// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Leases: grants, spare leases, and revocations.
#include "leases.hpp"

#include "store/etcd/http/exchange.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace tenure::etcd
{

namespace
{

using namespace std::chrono_literals;

/// fraction of the claim's ttl: a spare lease up to this age serves another claim, which loses that much
constexpr std::int64_t youth = 20;
/// fraction of its ttl: a spare lease is given up at this age
constexpr std::int64_t patience = 2;
constexpr auto revoke_limit = 5s;

Instant spare_until(Lease const& lease)
{
    return lease.since + Clock::duration(std::chrono::seconds(lease.granted)) / patience;
}

} // namespace

std::int64_t whole_seconds(std::chrono::milliseconds ttl) noexcept
{
    return std::chrono::ceil<std::chrono::seconds>(ttl).count();
}

std::chrono::milliseconds usable_ttl(
    std::chrono::milliseconds asked, std::chrono::milliseconds reuse_after, std::int64_t granted_seconds) noexcept
{
    if (granted_seconds == whole_seconds(asked + reuse_after))
        return asked;
    return std::chrono::seconds(granted_seconds) - reuse_after;
}

Leases::Leases(ClientPtr client)
    : client_(std::move(client))
    , sweep_(client_->runtime())
{
}

void Leases::close() noexcept
{
    sweep_.cancel();
    spares_.clear();
}

void Leases::prove(Lease& lease, Header const& later) noexcept
{
    note(later);
    if (lease.renewed && lease.renewed->raft_term == later.raft_term)
        lease.since = std::max(lease.since, lease.renewed->since);
    lease.renewed.reset();
}

bool Leases::is_spare(Lease const& lease) const
{
    return lease.raft_term >= raft_term_ && client_->runtime().now() < spare_until(lease);
}

LeasePtr Leases::take_spare(std::int64_t seconds)
{
    auto& spares = spares_[seconds];
    while (!spares.empty()) {
        auto lease = std::move(spares.back());
        spares.pop_back();
        if (is_spare(*lease))
            return lease;
        discard(lease);
    }
    return nullptr;
}

store::Request<Leases::Taken> Leases::take(
    std::shared_ptr<Leases> self, std::chrono::milliseconds lifetime, std::chrono::milliseconds ttl, Deadline not_after,
    Sender sender)
{
    auto& client = *self->client_;
    for (;;) {
        auto lease = self->take_spare(whole_seconds(lifetime));
        if (lease == nullptr)
            break;
        if (client.runtime().now() - lease->since < Clock::duration(ttl) / youth)
            co_return lease;
        // much cheaper than a new lease, because servers write nothing
        auto keep_alive = send(self->client_, {"lease/keepalive", lease_body(lease->id), not_after, sender});
        sender.line = Line::later_steps;
        auto outcome = co_await keep_alive;
        auto const reply = outcome.good() ? parse_lease(outcome.body) : std::nullopt;
        if (reply && reply->ttl > 0) {
            lease->granted = reply->ttl;
            lease->renewed = {outcome.since, reply->header.raft_term};
            co_return lease;
        }
        self->discard(lease);
        if (outcome.delivery != Delivery::answered)
            co_return failure(outcome, client.where(), "lease");
    }
    auto new_lease = store::as_step(grant(self, lifetime, not_after, sender));
    auto lease = co_await new_lease;
    co_return lease;
}

store::Request<Leases::Taken>
Leases::grant(std::shared_ptr<Leases> self, std::chrono::milliseconds lifetime, Deadline not_after, Sender sender)
{
    auto& client = *self->client_;
    auto const lease = std::make_shared<Lease>();
    // chosen by the client, so that a lease with an unanswered grant can be revoked
    std::uint64_t id = 0;
    client.runtime().random_bytes(std::as_writable_bytes(std::span(&id, 1)));
    lease->id = static_cast<LeaseId>(id >> 1U) | 1;
    lease->seconds = whole_seconds(lifetime);
    auto const term_before = self->raft_term_;
    auto request = send(self->client_, {"lease/grant", grant_body(lease->id, lease->seconds), not_after, sender});
    auto outcome = co_await request;
    if (outcome.delivery == Delivery::unknown)
        self->discard(lease);
    if (!outcome.good())
        co_return failure(outcome, client.where(), "lease");
    auto const reply = parse_lease(outcome.body);
    if (!reply || reply->ttl <= 0)
        co_return malformed_reply(client.where(), "lease");

    lease->granted = reply->ttl;
    lease->since = outcome.since;
    // The answer's term may have begun between the grant and the answer.
    self->note(reply->header);
    lease->raft_term = term_before == 0 ? reply->header.raft_term : std::min(term_before, self->raft_term_);
    if (self->known_.size() >= self->prune_at_) {
        std::erase_if(self->known_, [](auto const& entry) { return entry.second.expired(); });
        self->prune_at_ = std::max<std::size_t>(64, 2 * self->known_.size());
    }
    self->known_[lease->id] = lease;
    co_return lease;
}

void Leases::give_back(LeasePtr lease)
{
    if (lease->revoked || client_->closed())
        return;
    if (!is_spare(*lease)) {
        discard(lease);
        return;
    }
    if (!sweep_.pending())
        sweep_.at(spare_until(*lease), std::weak_ptr(self_), &Leases::sweep);
    spares_[lease->seconds].push_back(std::move(lease));
}

void Leases::sweep()
{
    auto next = Instant::max();
    for (auto& [seconds, spares] : spares_)
        std::erase_if(spares, [&](LeasePtr const& lease) {
            if (!is_spare(*lease)) {
                discard(lease);
                return true;
            }
            next = std::min(next, spare_until(*lease));
            return false;
        });
    if (next != Instant::max())
        sweep_.at(next, std::weak_ptr(self_), &Leases::sweep);
}

void Leases::discard(LeasePtr const& lease)
{
    if (client_->closed())
        return;
    auto const not_after = client_->runtime().now() + revoke_limit;
    revoke(client_, lease, not_after, {.line = Line::later_steps}).start([](WithdrawReply const&) {});
}

store::Request<WithdrawReply> Leases::revoke(ClientPtr client, LeasePtr lease, Deadline not_after, Sender sender)
{
    lease->revoked = true;
    auto request = send(client, {"lease/revoke", lease_body(lease->id), not_after, sender});
    auto const outcome = co_await request;
    if (outcome.good() ||
        (outcome.delivery == Delivery::answered && classify(outcome.status, outcome.body).lease_not_found))
        co_return Released{};
    co_return failure(outcome, client->where(), "lease");
}

LeasePtr Leases::known(LeaseId id) const
{
    auto const found = known_.find(id);
    return found == known_.end() ? nullptr : found->second.lock();
}

} // namespace tenure::etcd
