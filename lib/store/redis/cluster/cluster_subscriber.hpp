// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "cluster.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure::redis
{

/** Subscriptions in a cluster: each channel is subscribed at the node that serves its hash slot, and follows the slot
 *  to another node. */
class ClusterSubscriber : public std::enable_shared_from_this<ClusterSubscriber>
{
public:
    using Handler = WatchHandler;

    explicit ClusterSubscriber(std::shared_ptr<Cluster> cluster)
        : cluster_(std::move(cluster))
    {
    }

    /** Subscribes. Destroying the watch ends the subscription. */
    [[nodiscard]] std::unique_ptr<Watch> watch(std::string channel, Handler handler);

    /** Moves the subscriptions whose slot is at another node according to the map. */
    void follow_map();

    /** Handles the reply that this node no longer serves the channel. */
    void channel_moved(ServerAddress const& node, std::string const& channel);

private:
    struct Subscription;

    void settle(std::shared_ptr<Subscription> const& subscription);

    std::shared_ptr<Cluster> cluster_;
    std::vector<std::weak_ptr<Subscription>> subscriptions_;
};

} // namespace tenure::redis
