// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "claims.hpp"

#include <algorithm>
#include <utility>

namespace tenure::redis
{

namespace
{

constexpr std::size_t keys_per_transaction = 100;
constexpr std::size_t owners_per_call = 64;

} // namespace

void Claims::add(ClaimRequest request, ReplyHandler<ClaimReply> handler)
{
    auto const& range = *request.range;
    bool const is_pool = range.count > 1 && page_count(range) == 1 && !request.earliest_attempt;
    if (!is_pool && !(request.fencing && may_claim_by_set(*node_, request))) {
        claim(node_, std::move(request), std::move(handler));
        return;
    }
    PendingClaim pending{std::move(request), std::move(handler)};
    auto gathered = gathered_.lock();
    if (!gathered && under_way_ == 0 && !has_company_) {
        send_alone(std::move(pending), is_pool);
        return;
    }
    if (!gathered) {
        gathered = std::make_shared<Gathered>();
        gathered_ = gathered;
        flush_soon(gathered);
    }
    if (is_pool)
        gather_pool(*gathered, std::move(pending));
    else
        gather_key(*gathered, std::move(pending));
}

void Claims::gather_key(Gathered& gathered, PendingClaim pending)
{
    gathered.keys.push_back(std::move(pending));
    if (gathered.keys.size() == keys_per_transaction)
        send_keys(std::exchange(gathered.keys, {}));
}

void Claims::gather_pool(Gathered& gathered, PendingClaim pending)
{
    // a program claims from few pools at a time
    auto& pools = gathered.pools;
    auto pool = std::ranges::find_if(
        pools, [&](PendingClaims const& claims) { return may_share_a_call(claims.front().request, pending.request); });
    if (pool == pools.end())
        pool = pools.insert(pool, PendingClaims());
    pool->push_back(std::move(pending));
    if (pool->size() == owners_per_call) {
        auto full = std::move(*pool);
        pools.erase(pool);
        send_pool(std::move(full));
    }
}

void Claims::flush_soon(std::shared_ptr<Gathered> gathered)
{
    node_->runtime().post([self = shared_from_this(), gathered = std::move(gathered)] {
        // The server is busy with a call: another turn brings more company, and costs no time.
        if (self->under_way_ > 0 && !std::exchange(gathered->has_waited, true))
            self->flush_soon(gathered);
        else
            self->flush(*gathered);
    });
}

void Claims::flush(Gathered& gathered)
{
    gathered_.reset();
    auto count = gathered.keys.size();
    for (auto const& pool : gathered.pools)
        count += pool.size();
    has_company_ = count > 1;
    if (!gathered.keys.empty())
        send_keys(std::move(gathered.keys));
    for (auto& pool : gathered.pools)
        send_pool(std::move(pool));
}

bool Claims::may_join(PendingClaims const& claims) const
{
    // What waits for a connection keeps its own time limit.
    return claims.size() == 1 ||
           (node_->route()->ready() && std::ranges::none_of(claims, [](PendingClaim const& claim) {
                return claim.request.not_after.abandoned();
            }));
}

void Claims::send_alone(PendingClaim pending, bool is_pool)
{
    PendingClaims alone;
    alone.push_back(std::move(pending));
    if (is_pool)
        send_pool(std::move(alone));
    else
        send_keys(std::move(alone));
}

void Claims::send_keys(PendingClaims claims)
{
    if (!may_join(claims)) {
        for (auto& pending : claims)
            send_alone(std::move(pending), false);
        return;
    }
    ++under_way_;
    for (auto const& pending : claims)
        node_->route()->note_ttl(pending.request.ttl);
    claim_in_transaction(node_, std::move(claims), [self = shared_from_this()] { --self->under_way_; });
}

void Claims::send_pool(PendingClaims claims)
{
    if (!may_join(claims)) {
        for (auto& pending : claims)
            send_alone(std::move(pending), true);
        return;
    }
    ++under_way_;
    if (claims.size() > 1) {
        node_->route()->note_ttl(claims.front().request.ttl);
        claim_from_pool(node_, std::move(claims), [self = shared_from_this()] { --self->under_way_; });
        return;
    }
    auto& [request, handler] = claims.front();
    auto then = [self = shared_from_this(), handler = std::move(handler)](ClaimReply&& reply) mutable {
        --self->under_way_;
        std::move(handler)(std::move(reply));
    };
    claim(node_, std::move(request), std::move(then));
}

} // namespace tenure::redis
