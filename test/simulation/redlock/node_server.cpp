// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "node_server.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::simulation
{

namespace
{

std::uint64_t microseconds_of(Instant instant)
{
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(instant.time_since_epoch()).count());
}

} // namespace

std::string const* NodeServer::owner_of(std::string const& key, Instant now)
{
    auto const found = keys_.find(key);
    if (found == keys_.end())
        return nullptr;
    if (found->second.expires > local(now))
        return &found->second.owner;
    keys_.erase(found);
    return nullptr;
}

std::uint64_t NodeServer::next_token(std::string const& key, Instant now)
{
    auto& fence = fences_[key];
    return fence = std::max(fence + 1, microseconds_of(local(now)));
}

ClaimReply NodeServer::claim(ClaimRequest const& request, Instant now, Instant since)
{
    std::optional<std::chrono::milliseconds> earliest;
    for (std::uint32_t index = 0; index < request.range->count; ++index) {
        auto const key = request.range->key(index);
        if (auto const* const owner = owner_of(key, now); owner != nullptr && *owner != request.owner) {
            auto const left = std::chrono::ceil<std::chrono::milliseconds>(keys_.at(key).expires - local(now));
            earliest = std::min(earliest.value_or(left), left);
            continue;
        }
        keys_[key] = {request.owner, local(now) + request.ttl};
        return Granted{index, request.fencing ? next_token(key, now) : 0, request.ttl, since, nullptr};
    }
    return Busy{earliest, false};
}

ClaimReply NodeServer::claim_vote(ClaimRequest const& request, Instant now, Instant since)
{
    if (request.earliest_attempt)
        return claim(request, now, since);
    auto const key = request.range->key(0);
    if (owner_of(key, now) != nullptr)
        return Busy{std::chrono::ceil<std::chrono::milliseconds>(keys_.at(key).expires - local(now)), false};
    keys_[key] = {request.owner, local(now) + request.ttl};
    auto const token = request.fencing ? std::max(fences_[key], microseconds_of(local(now))) : 0;
    return Granted{0, token, request.ttl, since, nullptr};
}

RenewReply NodeServer::renew(RenewRequest const& request, Instant now, Instant since)
{
    auto const key = request.claim->key();
    auto const* const owner = owner_of(key, now);
    if (owner == nullptr || *owner != request.claim->owner)
        return NotOwner{};
    keys_.at(key).expires = local(now) + request.ttl;
    return Renewed{request.ttl, since};
}

ReleaseReply NodeServer::release(ReleaseRequest const& request, Instant now)
{
    auto const key = request.claim->key();
    auto const* const owner = owner_of(key, now);
    if (owner == nullptr || *owner != request.claim->owner)
        return NotOwner{};
    keys_.erase(key);
    return Released{};
}

WithdrawReply NodeServer::withdraw(WithdrawRequest const& request, Instant now)
{
    for (std::uint32_t index = 0; index < request.range->count; ++index) {
        auto const key = request.range->key(index);
        if (auto const* const owner = owner_of(key, now); owner != nullptr && *owner == request.owner)
            keys_.erase(key);
    }
    return Released{};
}

InspectReply NodeServer::inspect(KeyRange const& range, Instant now)
{
    std::vector<KeyState> states(range.count);
    for (std::uint32_t index = 0; index < range.count; ++index) {
        auto const key = range.key(index);
        states[index].index = index;
        if (auto const* const owner = owner_of(key, now)) {
            states[index].kind = KeyState::Kind::held;
            states[index].owner = *owner;
            states[index].remaining = std::chrono::floor<std::chrono::milliseconds>(keys_.at(key).expires - local(now));
        }
    }
    return states;
}

redis::TokenReply NodeServer::accept(redis::TokenRequest const& request, Instant now)
{
    auto const key = request.range->key(request.index);
    auto const* const owner = owner_of(key, now);
    if (owner == nullptr || *owner != request.owner)
        return NotOwner{};
    auto& fence = fences_[key];
    if (fence >= request.token)
        return redis::TokenTooLow{fence};
    fence = request.token;
    return redis::TokenAccepted{};
}

void NodeServer::lose_everything()
{
    keys_.clear();
    fences_.clear();
}

} // namespace tenure::simulation
