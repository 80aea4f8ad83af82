// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "store/redis/link/server_address.hpp"

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

/** One node of the cluster that is talked to. */
struct Member {
    ServerAddress address;
    /// no two members of a store have the same, not even one after the other at one address
    std::uint64_t serial = 0;
    std::shared_ptr<HedgedLink> channel;
    std::shared_ptr<Subscriber> hints;
    /// when it was needed last
    Instant used{};
};

/** The nodes that are talked to, each over connections of its own; made when they are needed. */
class ClusterNodes
{
public:
    ClusterNodes(std::shared_ptr<Runtime> runtime, ConnectTo connect, std::string waiter);
    ClusterNodes(ClusterNodes const&) = delete;
    ClusterNodes& operator=(ClusterNodes const&) = delete;
    ~ClusterNodes() = default;

    /** The member at this address, made if there is none yet. Valid until `keep_needed` or `close`. */
    [[nodiscard]] Member& at(ServerAddress const& address);
    /** Null: none has been made. */
    [[nodiscard]] Member* find(ServerAddress const& address);

    /** Called when one of them becomes reachable (again), and when a channel turns out to be at another node: with what
     * that node said. */
    void on_reachable(std::function<void(ServerAddress const&)> handler) { reachable_ = std::move(handler); }
    void on_moved(std::function<void(ServerAddress const&, std::string const& channel, resp::Value const&)> handler)
    {
        moved_ = std::move(handler);
    }

    void shortest_ttl(std::chrono::milliseconds ttl);
    void drop_abandoned();

    /** Closes the members that are not `needed` and that have had no request for `grace`. Requests without a reply end
     * as lost. Returns when to call this again; Instant::max(): no need. */
    [[nodiscard]] Instant
    keep_needed(std::function<bool(ServerAddress const&)> const& needed, std::chrono::milliseconds grace);

    void close() noexcept;

private:
    std::shared_ptr<Runtime> runtime_;
    ConnectTo connect_;
    /// names the store in lines of waiters
    std::string waiter_;
    std::map<ServerAddress, Member> members_;
    std::uint64_t made_ = 0;
    std::chrono::milliseconds shortest_ttl_{};
    std::function<void(ServerAddress const&)> reachable_;
    std::function<void(ServerAddress const&, std::string const&, resp::Value const&)> moved_;
};

} // namespace tenure::redis
