// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Claims: batches of claims of one range.
#include "claim.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tenure::redis
{

namespace
{

// With more groups, the search for the group of a claim would cost more than a call of its own.
constexpr std::size_t most_groups = 16;

bool is_pool(PendingClaim const& claim) noexcept
{
    return claim.request.range->count > 1;
}

/** True if one call can serve both claims: each is for a single key, or both have equal parameters on one pool. */
bool may_share_a_call(PendingClaim const& claim, PendingClaim const& other)
{
    if (!is_pool(claim) || !is_pool(other))
        return is_pool(claim) == is_pool(other);
    auto const& [one, two] = std::tie(claim.request, other.request);
    return (one.range == two.range || *one.range == *two.range) && one.ttl == two.ttl &&
           one.reuse_after == two.reuse_after && one.fencing == two.fencing && one.waits == two.waits;
}

} // namespace

void Claims::add(ClaimRequest&& request, ReplyHandler<ClaimReply> handler)
{
    PendingClaim pending{std::move(request), std::move(handler)};
    if (take_place(*server_, pending))
        begin(std::move(pending));
    else
        await_place(server_, std::move(pending), [self = shared_from_this()](PendingClaim&& claim) {
            self->begin(std::move(claim));
        });
}

void Claims::begin(PendingClaim&& pending)
{
    auto const& request = pending.request;
    auto const& range = *request.range;
    bool const may_share_a_page = range.count > 1 && page_count(range) == 1 && !request.earliest_attempt;
    if (!may_share_a_page && !(request.fencing && may_claim_by_set(*server_, request))) {
        claim(server_, std::move(pending));
        return;
    }
    auto gathered = gathered_.lock();
    if (!gathered && under_way_ == 0 && !has_company_ && !pending.request.with_others) {
        send_alone(std::move(pending));
        return;
    }
    if (!gathered) {
        gathered = std::make_shared<Gathered>();
        gathered_ = gathered;
        flush_soon(gathered);
    }
    gather(*gathered, std::move(pending));
}

void Claims::gather(Gathered& gathered, PendingClaim&& pending)
{
    // a vector, because a program claims from few pools at a time
    auto& groups = gathered.groups;
    auto group = std::ranges::find_if(
        groups, [&](PendingClaims const& claims) { return may_share_a_call(claims.front(), pending); });
    if (group == groups.end()) {
        if (groups.size() == most_groups) {
            auto oldest = std::move(groups.front());
            groups.erase(groups.begin());
            send(std::move(oldest));
        }
        group = groups.insert(groups.end(), PendingClaims());
    }
    group->push_back(std::move(pending));
    if (group->size() == owners_per_call) {
        auto full = std::move(*group);
        groups.erase(group);
        send(std::move(full));
    }
}

void Claims::flush_soon(std::shared_ptr<Gathered> gathered)
{
    server_->runtime().post([self = shared_from_this(), gathered = std::move(gathered)] {
        // While the server is busy with a call, waiting another turn groups more claims and costs no time.
        if (self->under_way_ > 0 && !std::exchange(gathered->has_waited, true))
            self->flush_soon(gathered);
        else
            self->flush(*gathered);
    });
}

void Claims::flush(Gathered& gathered)
{
    gathered_.reset();
    auto& groups = gathered.groups;
    has_company_ = groups.size() > 1 || (groups.size() == 1 && groups.front().size() > 1);
    for (auto& claims : groups)
        send(std::move(claims));
}

bool Claims::may_join(PendingClaims const& claims) const
{
    // Claims that wait for a connection keep their own deadlines.
    return claims.size() == 1 || server_->channel()->ready();
}

void Claims::send_alone(PendingClaim&& pending)
{
    PendingClaims alone;
    alone.push_back(std::move(pending));
    send(std::move(alone));
}

void Claims::send(PendingClaims claims)
{
    if (!may_join(claims)) {
        for (auto& pending : claims)
            send_alone(std::move(pending));
        return;
    }
    ++under_way_;
    auto answered = [self = shared_from_this()] { --self->under_way_; };
    if (!is_pool(claims.front())) {
        claim_in_transaction(server_, std::move(claims), std::move(answered));
    } else if (claims.size() > 1) {
        claim_from_pool(server_, std::move(claims), std::move(answered));
    } else {
        auto& alone = claims.front();
        alone.handler = [answered = std::move(answered),
                         handler = std::move(alone.handler)](ClaimReply&& reply) mutable {
            answered();
            std::move(handler)(std::move(reply));
        };
        claim(server_, std::move(alone));
    }
}

} // namespace tenure::redis
