// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "watches.hpp"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

namespace
{

/// between a hint and the next watch of the node
constexpr std::chrono::milliseconds moment{1};

} // namespace

class Watches::Subscription final : public Watch
{
public:
    Subscription(std::weak_ptr<Watches> watches, std::string path, std::uint64_t id)
        : watches_(std::move(watches))
        , path_(std::move(path))
        , id_(id)
    {
    }
    Subscription(Subscription const&) = delete;
    Subscription& operator=(Subscription const&) = delete;
    ~Subscription() override
    {
        if (auto const watches = watches_.lock())
            watches->unsubscribe(path_, id_);
    }

private:
    std::weak_ptr<Watches> watches_;
    std::string path_;
    std::uint64_t id_;
};

void Watches::listen()
{
    if (session_ != nullptr)
        return;
    session_ = ensemble_->looking();
    ensemble_->on_looking([weak = weak_from_this()](Session&, Session::Change change) {
        if (auto const self = weak.lock())
            self->connection(change);
    });
    session_->on_node_event([weak = weak_from_this()](SessionEvent const& event) {
        if (auto const self = weak.lock())
            self->told(event);
    });
}

std::unique_ptr<Watch> Watches::watch(KeyRangePtr range, std::function<void(WatchEvent)> handler)
{
    listen();
    auto const nodes = ensemble_->nodes(range);
    auto const path = range->count == 1 ? nodes->path(0) : nodes->parent();
    auto const id = ++last_id_;
    auto& watched = watched_[path];
    watched.is_parent = range->count > 1;
    if (watched.use == nullptr)
        watched.use = session_->use();
    watched.subscribers.emplace(
        id, Subscriber{std::move(range), std::make_shared<std::function<void(WatchEvent)>>(std::move(handler))});
    ensemble_->runtime().post([self = shared_from_this(), path] {
        if (self->closed_)
            return;
        if (self->session_->connected())
            self->changed(path);
        else
            self->session_->when_connected(Instant::max() - std::chrono::hours(1), [](Failure const*) {});
    });
    return std::make_unique<Subscription>(weak_from_this(), path, id);
}

void Watches::unsubscribe(std::string const& path, std::uint64_t id)
{
    if (auto const found = watched_.find(path); found != watched_.end()) {
        found->second.subscribers.erase(id);
        if (found->second.subscribers.empty()) {
            watched_.erase(found);
            disarm(path);
        }
    }
}

/** The server's watch would stay until something happens to the node, which for a name that is used once is never. */
void Watches::disarm(std::string const& path)
{
    if (session_ != nullptr)
        session_->unwatch(path);
}

void Watches::changed(std::string const& path)
{
    auto const found = watched_.find(path);
    if (found == watched_.end())
        return;
    if (found->second.arming)
        found->second.again = true;
    else
        arm(path);
}

void Watches::told(SessionEvent const& event)
{
    auto const found = watched_.find(event.path);
    if (found == watched_.end())
        return;
    if (found->second.is_parent || event.kind != SessionEvent::Kind::node_deleted) {
        changed(event.path);
        return;
    }
    // Who is told tries at once, and mostly gets the key and needs no watch any more. What happens before the next
    // watch is set is seen by the answer to that.
    ensemble_->runtime().call_at(ensemble_->runtime().now() + moment, [weak = weak_from_this(), path = event.path] {
        if (auto const self = weak.lock(); self != nullptr && !self->closed_ && self->session_->connected())
            self->changed(path);
    });
    tell(event.path, [](Subscriber& subscriber) {
        if (subscriber.in_force)
            (*subscriber.handler)(WatchEvent::hint);
    });
}

void Watches::connection(Session::Change change)
{
    std::vector<std::string> paths;
    paths.reserve(watched_.size());
    for (auto const& [path, watched] : watched_)
        paths.push_back(path);
    for (auto const& path : paths)
        if (change == Session::Change::connected)
            changed(path);
        else
            tell(path, [](Subscriber& subscriber) {
                if (std::exchange(subscriber.in_force, false))
                    (*subscriber.handler)(WatchEvent::interrupted);
            });
}

void Watches::arm(std::string const& path)
{
    auto& watched = watched_.at(path);
    watched.arming = true;
    watched.again = false;
    if (watched.is_parent)
        arm_parent(path);
    else
        session_->ask(
            {Question::Kind::exists, path, {}, -1, true},
            [self = shared_from_this(), path](Answer const& answer) { self->armed(path, answer); });
}

void Watches::arm_parent(std::string const& path)
{
    session_->ask(
        {Question::Kind::children, path, {}, -1, true}, [self = shared_from_this(), path](Answer const& answer) {
            if (answer.code != ZNONODE) {
                self->armed(path, answer);
                return;
            }
            // there is nothing to watch before the first key is taken, or after the server removed an empty parent
            self->ensemble_->make_parent(self->session_, path, [self, path](Answer const& made) {
                auto const found = self->watched_.find(path);
                if (found == self->watched_.end())
                    return;
                if (made.code == ZOK || made.code == ZNODEEXISTS)
                    self->arm(path);
                else
                    self->armed(path, made);
            });
        });
}

void Watches::armed(std::string const& path, Answer const& answer)
{
    auto const found = watched_.find(path);
    if (found == watched_.end()) {
        disarm(path);
        return;
    }
    found->second.arming = false;
    if (found->second.again && session_->connected()) {
        arm(path);
        return;
    }
    bool const in_force = answer.code == ZOK || (answer.code == ZNONODE && !found->second.is_parent);
    if (!in_force) {
        // without a connection it is set again as soon as there is one
        if (is_answered(answer.code))
            tell(path, [](Subscriber& subscriber) { (*subscriber.handler)(WatchEvent::unavailable); });
        return;
    }
    tell(path, [&, is_parent = found->second.is_parent](Subscriber& subscriber) {
        std::uint32_t held = answer.code == ZOK ? 1 : 0;
        if (is_parent) {
            auto const nodes = ensemble_->nodes(subscriber.range);
            held = static_cast<std::uint32_t>(std::ranges::count_if(
                answer.children, [&](std::string const& name) { return nodes->index_of(name).has_value(); }));
        }
        if (!std::exchange(subscriber.in_force, true))
            (*subscriber.handler)(WatchEvent::in_force);
        else if (held < subscriber.range->count)
            (*subscriber.handler)(WatchEvent::hint);
    });
}

void Watches::tell(std::string const& path, std::function<void(Subscriber&)> const& what)
{
    // whoever is told may end any watch, and begin others
    std::vector<std::uint64_t> ids;
    auto const self = shared_from_this();
    if (auto const found = watched_.find(path); found != watched_.end())
        for (auto const& [id, subscriber] : found->second.subscribers)
            ids.push_back(id);
    for (auto const id : ids) {
        auto const found = watched_.find(path);
        if (found == watched_.end())
            return;
        auto const subscriber = found->second.subscribers.find(id);
        if (subscriber == found->second.subscribers.end())
            continue;
        auto const called = subscriber->second.handler;
        what(subscriber->second);
    }
}

void Watches::close() noexcept
{
    closed_ = true;
    watched_.clear();
}

} // namespace tenure::zookeeper
