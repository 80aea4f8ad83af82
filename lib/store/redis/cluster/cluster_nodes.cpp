// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "cluster_nodes.hpp"

#include <algorithm>
#include <utility>

namespace tenure::redis
{

ClusterNodes::ClusterNodes(std::shared_ptr<Runtime> runtime, ConnectTo connect, std::string waiter)
    : runtime_(std::move(runtime))
    , connect_(std::move(connect))
    , waiter_(std::move(waiter))
{
}

Member& ClusterNodes::at(ServerAddress const& address)
{
    if (auto* const known = find(address))
        return *known;
    auto const connect = connect_(address);
    auto& member = members_[address];
    member.address = address;
    member.serial = ++made_;
    member.channel = HedgedLink::make(runtime_, connect);
    member.channel->shortest_ttl(shortest_ttl_);
    member.channel->on_reachable([handler = reachable_, address] {
        if (handler)
            handler(address);
    });
    member.hints = Subscriber::make(runtime_, connect, "redis+cluster node " + to_string(address), waiter_);
    member.hints->use_shards([handler = moved_, address](std::string const& channel, resp::Value const& reply) {
        if (handler)
            handler(address, channel, reply);
    });
    member.used = runtime_->now();
    return member;
}

Member* ClusterNodes::find(ServerAddress const& address)
{
    auto const found = members_.find(address);
    return found == members_.end() ? nullptr : &found->second;
}

void ClusterNodes::shortest_ttl(std::chrono::milliseconds ttl)
{
    shortest_ttl_ = ttl;
    for (auto const& [address, member] : members_)
        member.channel->shortest_ttl(ttl);
}

void ClusterNodes::drop_abandoned()
{
    for (auto const& [address, member] : members_)
        member.channel->drop_abandoned();
}

Instant
ClusterNodes::keep_needed(std::function<bool(ServerAddress const&)> const& needed, std::chrono::milliseconds grace)
{
    auto again = Instant::max();
    for (auto entry = members_.begin(); entry != members_.end();) {
        auto const& [address, member] = *entry;
        if (needed(address)) {
            ++entry;
        } else if (runtime_->now() < member.used + grace) {
            again = std::min(again, member.used + grace);
            ++entry;
        } else {
            // pending requests may own the link: their outcomes come as posted handlers
            member.channel->give_up();
            member.hints->close();
            entry = members_.erase(entry);
        }
    }
    return again;
}

void ClusterNodes::close() noexcept
{
    reachable_ = nullptr;
    moved_ = nullptr;
    for (auto const& [address, member] : members_) {
        member.channel->close();
        member.hints->close();
    }
    members_.clear();
}

} // namespace tenure::redis
