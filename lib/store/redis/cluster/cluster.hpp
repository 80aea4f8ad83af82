// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "cluster_nodes.hpp"
#include "runtime/names.hpp"
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

/** Access to a cluster: connections, seeds and settings. */
struct ClusterAccess {
    ConnectTo connect;
    std::vector<ServerAddress> seeds;
    /// use the TLS ports of the nodes
    bool tls = false;
    /// name of the cluster for logs and errors, without secrets
    std::string name;
    /// see RedisClusterConfig
    bool delay_after_failover = false;
    /// see RedisClusterConfig
    LockLayout lock_layout = LockLayout::tenure;
};

/** State that the parts of a cluster store share: the nodes, the map of hash slots, and the requests that wait for
 *  either. Everything runs on the strand. */
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
    [[nodiscard]] ClusterNodes& nodes() noexcept { return *nodes_; }
    [[nodiscard]] Topology& topology() noexcept { return *topology_; }
    [[nodiscard]] std::string const& name() const noexcept { return name_; }
    /** The name of this store in lines of waiters. */
    [[nodiscard]] std::string const& waiter() const noexcept { return waiter_; }
    [[nodiscard]] bool closed() const noexcept { return closed_; }

    /** The node that serves the slot; null if it is unknown, which starts a refresh of the map. */
    [[nodiscard]] ClusterNode* serving(HashSlot slot);

    /** Runs the task at `until`, or earlier if `on_change` is set and the map may have changed; at the latest in
     *  `close`. */
    void wait(Deadline const& until, bool on_change, Task task);

    /** Drops unwritten requests whose owners have given up (see Deadline). */
    void drop_abandoned();

    /** Sets the handler that is called after the map may have changed. */
    void on_change(std::function<void()> handler) { changed_ = std::move(handler); }
    /** Sets the handler that is called when a node with slots becomes reachable, or other nodes serve them. */
    void on_reachable(std::function<void()> handler) { reachable_ = std::move(handler); }
    /** Sets the handler for a channel that the asked node does not serve. */
    void on_channel_moved(std::function<void(ServerAddress const& asked, std::string const& channel)> handler)
    {
        channel_moved_ = std::move(handler);
    }

    void close() noexcept;

private:
    struct Waiting {
        Task task;
        Deadline until;
        bool on_change = false;
    };

    void map_changed();
    /** Removes the chosen tasks and runs them. */
    void run_waiting(std::function<bool(Waiting const&)> const& chosen);
    void drop_abandoned_tasks();
    void tend();
    void arm();
    void tick();

    std::shared_ptr<Runtime> runtime_;
    std::string waiter_;
    std::shared_ptr<ClusterNodes> nodes_;
    std::shared_ptr<Topology> topology_;
    /// for logs and errors, without secrets
    std::string name_;
    std::multimap<Instant, Waiting> waiting_;
    /// a look at all waiting tasks takes at most a tenth of the time: none before this
    Instant look_after_{};
    /// an owner has given up since the last look
    bool look_due_ = false;
    std::function<void()> changed_;
    std::function<void()> reachable_;
    std::function<void(ServerAddress const&, std::string const&)> channel_moved_;
    /// when nodes without slots may be closed
    Instant tend_at_ = Instant::max();
    Timer timer_;
    bool closed_ = false;
};

} // namespace tenure::redis
