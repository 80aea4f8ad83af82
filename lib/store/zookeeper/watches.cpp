// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Watches: watches of nodes for waiters.
#include "watches.hpp"

#include "runtime/if_alive.hpp"
#include "store/ending_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

/// between a hint and the next watch of the node
constexpr std::chrono::milliseconds moment{1};

/** Names the waiters of a key that is held in places. No node has such a path. */
std::string waiters_of(std::string const& parent)
{
    return parent + "//";
}

bool is_node(std::string const& path)
{
    return !path.ends_with("//");
}

bool is_place_path(std::string const& path)
{
    return read_place(std::string_view(path).substr(path.rfind('/') + 1)).has_value();
}

} // namespace

void Watches::listen()
{
    if (session_ != nullptr)
        return;
    session_ = ensemble_->query_session();
    session_->on_event(if_alive(weak_from_this(), &Watches::on_event));
}

std::unique_ptr<Watch> Watches::watch(KeyRangePtr range, WatchAs as, WatchHandler handler)
{
    listen();
    auto const nodes = ensemble_->nodes(*range);
    bool const follows = range->shares && as == WatchAs::waiter;
    bool const is_parent = range->count > 1 || (range->shares && !follows);
    auto const path = follows ? waiters_of(nodes.parent()) : is_parent ? nodes.parent() : nodes.path(0);
    auto& watched = watched_[path];
    watched.is_parent = is_parent;
    watched.use = session_->use();
    auto subscriber = std::make_shared<Subscriber>(std::move(range), std::move(handler));
    watched.subscribers.push_back(subscriber);
    ensemble_->runtime().post([self = shared_from_this(), path] {
        if (self->closed_)
            return;
        if (self->session_->connected())
            self->changed(path);
        else
            self->session_->when_connected(Instant::max() - std::chrono::hours(1), [](Failure const*) {});
    });
    // the only strong reference to the subscriber: without it the handler is not called
    return std::make_unique<store::EndingWatch>(
        if_alive(weak_from_this(), &Watches::unsubscribe, path, std::move(subscriber)));
}

void Watches::follow(KeyRange const& key, std::string const& node)
{
    auto const parent = ensemble_->nodes(key).parent();
    auto const waiters = watched_.find(waiters_of(parent));
    if (closed_ || waiters == watched_.end())
        return; // they claim once they watch
    auto& watched = watched_[node];
    watched.is_parent = node == parent;
    watched.use = session_->use();
    for (auto const& weak : waiters->second.subscribers)
        if (auto const subscriber = weak.lock(); subscriber != nullptr && subscriber->follows.insert(node).second)
            watched.subscribers.push_back(weak);
    if (!watched.armed && !watched.arming && session_->connected())
        changed(node);
}

void Watches::end_following(std::string const& path)
{
    auto const node = watched_.extract(path);
    for (auto const& weak : node.mapped().subscribers)
        if (auto const subscriber = weak.lock(); subscriber != nullptr && !closed_) {
            subscriber->follows.erase(path);
            if (subscriber->in_force)
                subscriber->handler(WatchEvent::hint);
        }
}

void Watches::unsubscribe(std::string const& path, std::shared_ptr<Subscriber> const& gone)
{
    remove_from(path, gone);
    for (auto const& followed : gone->follows)
        remove_from(followed, gone);
}

void Watches::remove_from(std::string const& path, std::shared_ptr<Subscriber> const& gone)
{
    auto const found = watched_.find(path);
    if (found == watched_.end())
        return;
    std::erase_if(found->second.subscribers, [&gone](auto const& subscriber) { return subscriber.lock() == gone; });
    if (found->second.subscribers.empty()) {
        watched_.erase(found);
        // The server's watch would stay until the node changes: forever for a name that is used once.
        if (is_node(path))
            session_->unwatch(path);
    }
}

void Watches::changed(std::string const& path)
{
    auto const found = watched_.find(path);
    if (found == watched_.end())
        return;
    if (!is_node(path)) {
        // their claims find what they follow
        armed(path, false, {ZOK});
        return;
    }
    if (found->second.arming)
        found->second.again = true;
    else
        arm(shared_from_this(), path).start([](std::monostate) {});
}

void Watches::on_event(Session const&, SessionEvent const& event)
{
    using Kind = SessionEvent::Kind;
    if (event.kind == Kind::node_changed || event.kind == Kind::node_deleted)
        on_node_event(event);
    else
        on_connection(event.kind == Kind::connected);
}

void Watches::on_node_event(SessionEvent const& event)
{
    auto const found = watched_.find(event.path);
    if (found == watched_.end())
        return;
    found->second.armed = false;
    bool const is_place = !found->second.is_parent && is_place_path(event.path);
    if (is_place && event.kind == SessionEvent::Kind::node_deleted) {
        end_following(event.path);
        return;
    }
    if (found->second.is_parent || event.kind == SessionEvent::Kind::node_changed) {
        changed(event.path);
        return;
    }
    // A waiter that gets the hint claims at once, usually gets the key, and needs no further watch. Changes before the
    // next watch show in the response to that.
    ensemble_->runtime().call_at(ensemble_->runtime().now() + moment, [weak = weak_from_this(), path = event.path] {
        if (auto const self = weak.lock(); self != nullptr && !self->closed_ && self->session_->connected())
            self->changed(path);
    });
    notify(event.path, [](Subscriber& subscriber) {
        if (subscriber.in_force)
            subscriber.handler(WatchEvent::hint);
    });
}

void Watches::on_connection(bool connected)
{
    std::vector<std::string> paths;
    paths.reserve(watched_.size());
    for (auto const& [path, watched] : watched_)
        paths.push_back(path);
    for (auto& [path, watched] : watched_)
        watched.armed = false;
    for (auto const& path : paths)
        if (connected)
            changed(path);
        else
            notify(path, [](Subscriber& subscriber) {
                if (std::exchange(subscriber.in_force, false))
                    subscriber.handler(WatchEvent::interrupted);
            });
}

store::Request<std::monostate> Watches::arm(std::shared_ptr<Watches> self, std::string path)
{
    auto const& session = self->session_;
    for (;;) {
        auto& watched = self->watched_.at(path);
        watched.arming = true;
        watched.again = false;
        auto const kind = watched.is_parent ? Request::Kind::children : Request::Kind::exists;
        auto setting = ask(session, {.kind = kind, .path = path, .watch = true});
        auto response = co_await setting;
        // there is no parent to watch before the first key is taken, or after the server removed an empty one
        bool const no_parent = response.code == ZNONODE && kind == Request::Kind::children;
        if (no_parent) {
            auto creation = store::as_step(create_parent(session, path));
            response = co_await creation;
        }
        auto const found = self->watched_.find(path);
        if (found == self->watched_.end()) {
            session->unwatch(path);
            co_return std::monostate();
        }
        if (no_parent && response.exists())
            continue;
        found->second.arming = false;
        if (found->second.again && session->connected())
            continue;
        self->armed(path, found->second.is_parent, response);
        co_return std::monostate();
    }
}

void Watches::armed(std::string const& path, bool is_parent, Response const& response)
{
    bool const is_place = !is_parent && is_place_path(path);
    if (auto const found = watched_.find(path); found != watched_.end())
        found->second.armed = response.code == ZOK;
    if (is_place && response.code == ZNONODE) {
        end_following(path);
        return;
    }
    if (response.code != ZOK && (response.code != ZNONODE || is_parent)) {
        // without a connection it is set again once there is one
        if (is_answered(response.code))
            notify(path, [](Subscriber& subscriber) { subscriber.handler(WatchEvent::unavailable); });
        return;
    }
    notify(path, [&](Subscriber& subscriber) {
        std::int64_t held = response.code == ZOK ? 1 : 0;
        if (is_parent && subscriber.range->shares) {
            held = 0; // each change counts
        } else if (is_parent) {
            auto const nodes = ensemble_->nodes(*subscriber.range);
            held = std::ranges::count_if(
                response.children, [&](std::string const& name) { return nodes.index_of(name).has_value(); });
        }
        if (!std::exchange(subscriber.in_force, true))
            subscriber.handler(WatchEvent::in_force);
        else if (held < subscriber.range->count)
            subscriber.handler(WatchEvent::hint);
    });
}

void Watches::notify(std::string const& path, Notify const& how) const
{
    auto const found = watched_.find(path);
    if (found == watched_.end())
        return;
    // A copy, because handlers begin and end watches. A watch that has ended meanwhile is not called.
    auto const subscribers = found->second.subscribers;
    for (auto const& weak : subscribers)
        if (auto const subscriber = weak.lock(); subscriber != nullptr && !closed_)
            how(*subscriber);
}

void Watches::close() noexcept
{
    closed_ = true;
    watched_.clear();
}

} // namespace tenure::zookeeper
