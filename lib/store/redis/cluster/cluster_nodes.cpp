// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ClusterNodes: connections of each node.
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

ClusterNode& ClusterNodes::at(ServerAddress const& address)
{
    if (auto* const known = find(address))
        return *known;
    auto const connect = connect_(address);
    auto& node = nodes_[address];
    node.address = address;
    node.serial = ++made_;
    node.channel = std::make_shared<HedgedLink>(runtime_, connect);
    node.channel->shortest_ttl(shortest_ttl_);
    node.channel->on_reachable([handler = reachable_, address] {
        if (handler)
            handler(address);
    });
    node.hints = std::make_shared<Subscriber>(runtime_, connect, "redis+cluster node " + to_string(address), waiter_);
    node.hints->use_shards([handler = moved_, address](std::string const& channel, resp::Value const& reply) {
        if (handler)
            handler(address, channel, reply);
    });
    node.used = runtime_->now();
    return node;
}

ClusterNode* ClusterNodes::find(ServerAddress const& address)
{
    auto const found = nodes_.find(address);
    return found == nodes_.end() ? nullptr : &found->second;
}

void ClusterNodes::shortest_ttl(std::chrono::milliseconds ttl)
{
    shortest_ttl_ = ttl;
    for (auto const& [address, node] : nodes_)
        node.channel->shortest_ttl(ttl);
}

void ClusterNodes::drop_abandoned()
{
    for (auto const& [address, node] : nodes_)
        node.channel->drop_abandoned();
}

Instant
ClusterNodes::keep_needed(std::function<bool(ServerAddress const&)> const& needed, std::chrono::milliseconds grace)
{
    auto again = Instant::max();
    for (auto entry = nodes_.begin(); entry != nodes_.end();) {
        auto const& [address, node] = *entry;
        if (needed(address)) {
            ++entry;
        } else if (runtime_->now() < node.used + grace) {
            again = std::min(again, node.used + grace);
            ++entry;
        } else {
            // pending requests may own the link: their outcomes come as posted handlers
            node.channel->give_up();
            node.hints->close();
            entry = nodes_.erase(entry);
        }
    }
    return again;
}

void ClusterNodes::close() noexcept
{
    reachable_ = nullptr;
    moved_ = nullptr;
    for (auto const& [address, node] : nodes_) {
        node.channel->close();
        node.hints->close();
    }
    nodes_.clear();
}

} // namespace tenure::redis
