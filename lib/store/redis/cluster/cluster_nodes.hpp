// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/link/server_address.hpp"

#include "runtime/names.hpp"
#include "store/redis/link/hedged_link.hpp"
#include "store/redis/link/subscriber.hpp"

#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace tenure::redis
{

/** One node of the cluster with its connections. */
struct ClusterNode {
    ServerAddress address;
    /// unique in a store, even among successive nodes at one address
    std::uint64_t serial = 0;
    std::shared_ptr<HedgedLink> channel;
    std::shared_ptr<Subscriber> hints;
    /// time of the last use
    Instant used{};
};

/** The nodes in use, each with its own connections. Nodes are created on demand. */
class ClusterNodes
{
public:
    ClusterNodes(std::shared_ptr<Runtime> runtime, ConnectTo connect, std::string waiter);
    ClusterNodes(ClusterNodes const&) = delete;
    ClusterNodes& operator=(ClusterNodes const&) = delete;
    ~ClusterNodes() = default;

    /** The node at this address, created if needed. Valid until `keep_needed` or `close`. */
    [[nodiscard]] ClusterNode& at(ServerAddress const& address);
    /** The node at this address; null if it was not created. */
    [[nodiscard]] ClusterNode* find(ServerAddress const& address);

    /** Set the handlers that are called when a node becomes reachable, and when a channel is at another node (with the
     *  reply of the asked node). */
    void on_reachable(std::function<void(ServerAddress const&)> handler) { reachable_ = std::move(handler); }
    void on_moved(std::function<void(ServerAddress const&, std::string const& channel, resp::Value const&)> handler)
    {
        moved_ = std::move(handler);
    }

    void shortest_ttl(std::chrono::milliseconds ttl);
    void drop_abandoned();

    /** Closes nodes that are not `needed` and were unused for `grace`. Unanswered requests end as lost. Returns when
     *  to call this again; Instant::max(): not needed. */
    [[nodiscard]] Instant
    keep_needed(std::function<bool(ServerAddress const&)> const& needed, std::chrono::milliseconds grace);

    void close() noexcept;

private:
    std::shared_ptr<Runtime> runtime_;
    ConnectTo connect_;
    /// name of the store in lines of waiters
    std::string waiter_;
    std::map<ServerAddress, ClusterNode> nodes_;
    std::uint64_t made_ = 0;
    std::chrono::milliseconds shortest_ttl_{};
    std::function<void(ServerAddress const&)> reachable_;
    std::function<void(ServerAddress const&, std::string const&, resp::Value const&)> moved_;
};

} // namespace tenure::redis
