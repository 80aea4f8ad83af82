// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "cluster_nodes.hpp"
#include "slot_map.hpp"

#include "runtime/names.hpp"
#include "store/redis/link/connection.hpp"
#include "store/redis/link/connection_handshake.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tenure::redis
{

/** Keeps the map of hash slots up to date by asking the nodes.
 *
 *  One refresh runs at a time, and at most a few per second, for any number of redirected requests: these continue with
 *  the addresses in the redirects. A refresh asks one node, and a second one in parallel if the first is slow. */
class Topology : public std::enable_shared_from_this<Topology>
{
public:
    /** @param seeds  asked if no other node answers
     *  @param name  of the cluster, for log and errors */
    Topology(
        std::shared_ptr<Runtime> runtime, std::shared_ptr<ClusterNodes> nodes, std::vector<ServerAddress> seeds,
        bool tls, std::string name);

    [[nodiscard]] SlotMap const& map() const noexcept { return map_; }
    /** True after a node has described the map. */
    [[nodiscard]] bool known() const noexcept { return known_; }

    /** Updates one slot after a redirect, and refreshes the map, because other slots may have changed as well. */
    void learn(HashSlot slot, ServerAddress const& master);

    /** Requests a new map soon. */
    void refresh();

    /** Sets the handler that is called when a refresh has ended, or a redirect has changed the map. */
    void on_change(std::function<void()> handler) { changed_ = std::move(handler); }

    /** Why the last refresh brought no map; its detail is empty after a success. */
    [[nodiscard]] Refusal const& failure() const noexcept { return failure_; }

    void close() noexcept;

private:
    void begin();
    void ask_next();
    void ask(ServerAddress const& address, std::size_t refresh, bool by_slots, std::string refused);
    void answered(
        ServerAddress const& address, std::size_t refresh, bool by_slots, std::string const& refused, Outcome outcome);
    void failed(ServerAddress const& address, Refusal const& why);
    void finish();
    /// replaces the earlier time of the timer
    void arm(Instant when) { timer_.at(when, weak_from_this(), &Topology::timer_reached); }
    void timer_reached();

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<ClusterNodes> nodes_;
    std::vector<ServerAddress> seeds_;
    bool tls_;
    std::string name_;
    SlotMap map_;
    bool known_ = false;
    std::function<void()> changed_;
    Refusal failure_;

    /// a refresh is pending
    bool running_ = false;
    /// a refresh was requested since the last one began
    bool wanted_ = false;
    std::size_t refreshes_ = 0;
    /// when the current refresh is given up
    Instant until_{};
    /// earliest begin of the next refresh
    Instant not_before_{};
    /// grows with each refresh without news
    std::chrono::milliseconds pause_;
    /// of this refresh: nodes to ask next, from the back
    std::vector<ServerAddress> candidates_;
    /// of this refresh: unanswered requests
    std::size_t open_questions_ = 0;
    /// of this refresh: all failures so far were fatal
    bool all_fatal_ = true;
    /// for the next request of this refresh, or for the next refresh
    Timer timer_;
    bool closed_ = false;
};

} // namespace tenure::redis
