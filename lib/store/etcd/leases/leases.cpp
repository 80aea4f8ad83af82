// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "leases.hpp"

#include "store/etcd/http/gateway_error.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>

namespace tenure::etcd
{

namespace
{

using namespace std::chrono_literals;

/// of the claim's ttl: so old a spare lease may be for another claim, which has that much less of it
constexpr std::int64_t youth = 20;
/// of its ttl: so old a spare lease may become before it is given up
constexpr std::int64_t patience = 2;
constexpr auto revoke_limit = 5s;

Leases::Taken failed(Outcome&& outcome, Client const& client)
{
    return failure(std::move(outcome), client.where(), "lease");
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
{
}

Leases::~Leases()
{
    close();
}

void Leases::close() noexcept
{
    client_->runtime().cancel(std::exchange(timer_, 0));
    spares_.clear();
}

void Leases::prove(Lease& lease, Header const& later) noexcept
{
    note(later);
    if (lease.renewed && lease.renewed->raft_term == later.raft_term)
        lease.since = std::max(lease.since, lease.renewed->since);
    lease.renewed.reset();
}

bool Leases::is_young(Lease const& lease, std::chrono::milliseconds ttl) const
{
    return age(lease) < Clock::duration(ttl) / youth;
}

bool Leases::is_spare(Lease const& lease) const
{
    return lease.raft_term >= raft_term_ &&
           age(lease) < Clock::duration(std::chrono::seconds(lease.granted)) / patience;
}

Clock::duration Leases::age(Lease const& lease) const
{
    return client_->runtime().now() - lease.since;
}

void Leases::take(
    std::chrono::milliseconds lifetime, std::chrono::milliseconds ttl, Deadline not_after,
    OneShot<void(Taken&&)> handler)
{
    auto& spares = spares_[whole_seconds(lifetime)];
    while (!spares.empty()) {
        auto lease = std::move(spares.back());
        spares.pop_back();
        if (!is_spare(*lease)) {
            discard(lease);
            continue;
        }
        if (is_young(*lease, ttl))
            std::move(handler)(Taken(std::move(lease)));
        else
            refresh(std::move(lease), lifetime, ttl, not_after, std::move(handler));
        return;
    }
    grant(lifetime, not_after, std::move(handler));
}

/** Much cheaper than a new one: no server writes anything down. */
void Leases::refresh(
    LeasePtr lease, std::chrono::milliseconds lifetime, std::chrono::milliseconds ttl, Deadline not_after,
    TakenHandler handler)
{
    Call call;
    call.path = "lease/keepalive";
    call.body = lease_body(lease->id);
    call.not_after = not_after;
    client_->call(
        std::move(call), [self = shared_from_this(), lease = std::move(lease), lifetime, ttl, not_after,
                          handler = std::move(handler)](Outcome outcome) mutable {
            auto const reply = outcome.good() ? parse_lease(outcome.body) : std::nullopt;
            if (reply && reply->ttl > 0) {
                lease->granted = reply->ttl;
                lease->renewed = {outcome.since, reply->header.raft_term};
                std::move(handler)(Taken(std::move(lease)));
                return;
            }
            self->discard(lease);
            if (outcome.delivery == Delivery::answered)
                self->take(lifetime, ttl, not_after, std::move(handler)); // there is one fewer now
            else
                std::move(handler)(failed(std::move(outcome), *self->client_));
        });
}

void Leases::grant(std::chrono::milliseconds lifetime, Deadline not_after, OneShot<void(Taken&&)> handler)
{
    auto lease = std::make_shared<Lease>();
    // chosen here, so that one whose grant is not answered can be revoked
    lease->id = static_cast<LeaseId>(client_->runtime().random() >> 1U) | 1;
    lease->seconds = whole_seconds(lifetime);
    Call call;
    call.path = "lease/grant";
    call.body = grant_body(lease->id, lease->seconds);
    call.not_after = not_after;
    client_->call(
        std::move(call), [self = shared_from_this(), lease, term_before = raft_term_,
                          handler = std::move(handler)](Outcome outcome) mutable {
            if (!outcome.good()) {
                if (outcome.delivery == Delivery::unknown)
                    self->discard(lease);
                std::move(handler)(failed(std::move(outcome), *self->client_));
                return;
            }
            auto const reply = parse_lease(outcome.body);
            if (!reply || reply->ttl <= 0) {
                std::move(handler)(Taken(nonsense(self->client_->where(), "lease")));
                return;
            }
            lease->granted = reply->ttl;
            lease->since = outcome.since;
            // The answer's term may be one that began between the grant and the answer.
            self->note(reply->header);
            lease->raft_term = term_before == 0 ? reply->header.raft_term : std::min(term_before, self->raft_term_);
            if (self->known_.size() >= self->prune_at_) {
                std::erase_if(self->known_, [](auto const& entry) { return entry.second.expired(); });
                self->prune_at_ = std::max<std::size_t>(64, 2 * self->known_.size());
            }
            self->known_[lease->id] = lease;
            std::move(handler)(Taken(std::move(lease)));
        });
}

void Leases::give_back(LeasePtr lease)
{
    if (lease->revoked || client_->closed())
        return;
    if (!is_spare(*lease)) {
        discard(lease);
        return;
    }
    arm(lease->since + Clock::duration(std::chrono::seconds(lease->granted)) / patience);
    spares_[lease->seconds].push_back(std::move(lease));
}

void Leases::arm(Instant when)
{
    if (timer_ == 0)
        timer_ = client_->runtime().call_at(when, [weak = weak_from_this()] {
            if (auto const self = weak.lock())
                self->sweep();
        });
}

void Leases::sweep()
{
    timer_ = 0;
    auto next = Instant::max();
    for (auto& [seconds, spares] : spares_)
        std::erase_if(spares, [&](LeasePtr const& lease) {
            if (!is_spare(*lease)) {
                discard(lease);
                return true;
            }
            next = std::min(next, lease->since + Clock::duration(std::chrono::seconds(lease->granted)) / patience);
            return false;
        });
    if (next != Instant::max())
        arm(next);
}

void Leases::discard(LeasePtr const& lease)
{
    if (client_->closed())
        return;
    revoke(lease, client_->runtime().now() + revoke_limit, [](WithdrawReply const&) {});
}

void Leases::revoke(LeasePtr const& lease, Deadline not_after, ReplyHandler<WithdrawReply> handler)
{
    lease->revoked = true;
    Call call;
    call.path = "lease/revoke";
    call.body = lease_body(lease->id);
    call.not_after = not_after;
    client_->call(std::move(call), [client = client_, handler = std::move(handler)](Outcome outcome) mutable {
        if (outcome.good() ||
            (outcome.delivery == Delivery::answered && classify(outcome.status, outcome.body).lease_not_found))
            std::move(handler)(WithdrawReply(Released{}));
        else
            std::move(handler)(failure(std::move(outcome), client->where(), "lease"));
    });
}

LeasePtr Leases::known(LeaseId id) const
{
    auto const found = known_.find(id);
    return found == known_.end() ? nullptr : found->second.lock();
}

} // namespace tenure::etcd
