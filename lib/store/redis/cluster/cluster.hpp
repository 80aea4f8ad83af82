// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "cluster_nodes.hpp"
#include "topology.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tenure::redis
{

/** How a cluster is reached. */
struct ClusterAccess {
    ConnectTo connect;
    std::vector<ServerAddress> seeds;
    /// the nodes' TLS ports are the ones to use
    bool tls = false;
    /// of the cluster, without secrets
    std::string name;
    /// see RedisClusterConfig
    bool delay_after_failover = false;
};

/** What the parts of a cluster store share: the nodes, the map of slots, and the requests that wait for one of them.
 * Everything belongs to the strand. */
class Cluster : public std::enable_shared_from_this<Cluster>
{
    struct Private {
        explicit Private() = default;
    };

public:
    [[nodiscard]] static std::shared_ptr<Cluster> make(std::shared_ptr<Runtime> runtime, ClusterAccess access);
    Cluster(Private, std::shared_ptr<Runtime> runtime, ClusterAccess access);
    Cluster(Cluster const&) = delete;
    Cluster& operator=(Cluster const&) = delete;
    ~Cluster();

    [[nodiscard]] std::shared_ptr<Runtime> const& runtime() const noexcept { return runtime_; }
    [[nodiscard]] ClusterNodes& members() noexcept { return *members_; }
    [[nodiscard]] Topology& topology() noexcept { return *topology_; }
    [[nodiscard]] std::string const& name() const noexcept { return name_; }
    /** Names this store in lines of waiters. */
    [[nodiscard]] std::string const& waiter() const noexcept { return waiter_; }
    [[nodiscard]] bool closed() const noexcept { return closed_; }

    /** The member that serves the slot; null where none is known, and then the map is asked for. */
    [[nodiscard]] Member* serving(HashSlot slot);

    /** Runs the task when `until` is over, and earlier if `on_change` is set and the map may have changed; at `close`
     * at the latest. */
    void wait(Deadline const& until, bool on_change, std::function<void()> task);

    /** Owners of requests have given up (see Deadline). */
    void drop_abandoned();

    /** Called after the map may have changed. */
    void on_change(std::function<void()> handler) { changed_ = std::move(handler); }
    /** Called when a node that serves slots becomes reachable (again), or another one serves them. */
    void on_reachable(std::function<void()> handler) { reachable_ = std::move(handler); }
    /** Called with a node that was asked for a channel which is at another one. */
    void on_channel_moved(std::function<void(ServerAddress const& asked, std::string const& channel)> handler)
    {
        channel_moved_ = std::move(handler);
    }

    void close() noexcept;

private:
    struct Waiting {
        std::function<void()> task;
        Deadline until;
        bool on_change = false;
    };

    void map_changed();
    /** Takes out those that are chosen, and runs them. */
    void run_waiting(std::function<bool(Waiting const&)> const& chosen);
    void tend();
    void arm();
    void tick();

    std::shared_ptr<Runtime> runtime_;
    std::string waiter_;
    std::shared_ptr<ClusterNodes> members_;
    std::shared_ptr<Topology> topology_;
    /// without secrets
    std::string name_;
    std::multimap<Instant, Waiting> waiting_;
    std::function<void()> changed_;
    std::function<void()> reachable_;
    std::function<void(ServerAddress const&, std::string const&)> channel_moved_;
    /// when members that serve no slot may be closed
    Instant tend_at_ = Instant::max();
    Timer timer_;
    Instant timer_at_{};
    bool closed_ = false;
};

} // namespace tenure::redis
