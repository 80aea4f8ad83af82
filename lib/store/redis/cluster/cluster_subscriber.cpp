// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ClusterSubscriber: moves subscriptions with their hash slots.
#include "cluster_subscriber.hpp"

#include "hash_slot.hpp"

#include <store/ending_watch.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace tenure::redis
{

namespace
{

// Limits moves of a channel while nodes send it back and forth until they agree.
constexpr std::chrono::milliseconds between_moves{100};

} // namespace

struct ClusterSubscriber::Subscription {
    std::string channel;
    HashSlot slot = 0;
    Handler handler;
    /// address of the subscription; an empty host: not subscribed
    ServerAddress home;
    std::unique_ptr<Watch> watch;
    bool in_force = false;
    /// time of the last subscription
    Instant settled = Instant::min();
    /// waits until it may move again
    bool waits = false;
};

std::unique_ptr<Watch> ClusterSubscriber::watch(std::string channel, Handler handler)
{
    auto subscription = std::make_shared<Subscription>();
    subscription->slot = hash_slot(channel);
    subscription->channel = std::move(channel);
    subscription->handler = std::move(handler);
    std::erase_if(subscriptions_, [](auto const& entry) { return entry.expired(); });
    subscriptions_.push_back(subscription);
    if (cluster_->closed())
        cluster_->runtime()->post([weak = std::weak_ptr(subscription)] {
            if (auto const alive = weak.lock())
                alive->handler(WatchEvent::unavailable);
        });
    else
        settle(subscription);
    // the only strong reference: without it the handler is not called
    return std::make_unique<store::EndingWatch>([subscription = std::move(subscription)] {});
}

void ClusterSubscriber::settle(std::shared_ptr<Subscription> const& subscription)
{
    auto* const node = cluster_->serving(subscription->slot);
    // without a map: moves once there is one, see `follow_map`
    if (node == nullptr || node->address == subscription->home)
        return;
    auto const now = cluster_->runtime()->now();
    if (subscription->settled != Instant::min() && now < subscription->settled + between_moves) {
        if (!std::exchange(subscription->waits, true))
            cluster_->wait(now + between_moves, false, [weak = std::weak_ptr(subscription), self = weak_from_this()] {
                auto const subscriber = self.lock();
                auto const alive = weak.lock();
                if (!subscriber || !alive || subscriber->cluster_->closed())
                    return;
                alive->waits = false;
                subscriber->settle(alive);
            });
        return;
    }
    subscription->settled = now;
    subscription->home = node->address;
    subscription->watch = node->hints->watch(
        subscription->channel, [weak = std::weak_ptr(subscription), self = weak_from_this()](WatchNews news) {
            auto const subscriber = self.lock();
            auto const alive = weak.lock();
            if (!subscriber || !alive)
                return;
            auto const event = news.event;
            bool const is_news =
                event == WatchEvent::hint || event == WatchEvent::our_turn || event == WatchEvent::others_turn;
            bool const was_in_force =
                std::exchange(alive->in_force, event == WatchEvent::in_force || (is_news && alive->in_force));
            if (event == WatchEvent::interrupted) {
                subscriber->cluster_->topology().refresh();
                // the handler was already notified when the subscription left its node
                if (!was_in_force)
                    return;
            }
            alive->handler(news);
        });
}

void ClusterSubscriber::follow_map()
{
    // a copy, because handlers may begin and end watches
    auto const all = subscriptions_;
    for (auto const& weak : all) {
        auto const subscription = weak.lock();
        auto const* const owner =
            subscription == nullptr ? nullptr : cluster_->topology().map().owner(subscription->slot);
        if (owner == nullptr || *owner == subscription->home)
            continue;
        subscription->watch.reset();
        subscription->home = {};
        if (std::exchange(subscription->in_force, false))
            subscription->handler(WatchEvent::interrupted);
        settle(subscription);
    }
}

void ClusterSubscriber::channel_moved(ServerAddress const& node, std::string const& channel)
{
    for (auto const& weak : subscriptions_)
        if (auto const subscription = weak.lock();
            subscription && subscription->channel == channel && subscription->home == node)
            subscription->home = {};
    // the map may already be right; otherwise a refresh follows
    follow_map();
}

} // namespace tenure::redis
