// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "watches.hpp"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

class Watches::Subscription final : public Watch
{
public:
    Subscription(std::weak_ptr<Watches> watches, std::string parent, std::uint64_t id)
        : watches_(std::move(watches))
        , parent_(std::move(parent))
        , id_(id)
    {
    }
    Subscription(Subscription const&) = delete;
    Subscription& operator=(Subscription const&) = delete;
    ~Subscription() override
    {
        if (auto const watches = watches_.lock())
            watches->unsubscribe(parent_, id_);
    }

private:
    std::weak_ptr<Watches> watches_;
    std::string parent_;
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
    session_->on_children_changed([weak = weak_from_this()](std::string const& parent) {
        if (auto const self = weak.lock())
            self->changed(parent);
    });
}

std::unique_ptr<Watch> Watches::watch(KeyRangePtr range, std::function<void(WatchEvent)> handler)
{
    listen();
    auto const path = ensemble_->nodes(*range).parent();
    auto const id = ++last_id_;
    auto& parent = parents_[path];
    if (parent.use == nullptr)
        parent.use = session_->use();
    parent.subscribers.emplace(
        id, Subscriber{std::move(range), std::make_shared<std::function<void(WatchEvent)>>(std::move(handler))});
    ensemble_->runtime().post([self = shared_from_this(), path] {
        if (self->closed_)
            return;
        if (self->session_->connected())
            self->changed(path);
        else
            self->session_->when_connected(Instant::max() - std::chrono::hours(1), [](NotSent const*) {});
    });
    return std::make_unique<Subscription>(weak_from_this(), path, id);
}

void Watches::unsubscribe(std::string const& parent, std::uint64_t id)
{
    // the server's watch stays until it tells something, which nobody hears any more
    if (auto const found = parents_.find(parent); found != parents_.end()) {
        found->second.subscribers.erase(id);
        if (found->second.subscribers.empty())
            parents_.erase(found);
    }
}

void Watches::changed(std::string const& parent)
{
    auto const found = parents_.find(parent);
    if (found == parents_.end())
        return;
    if (found->second.arming)
        found->second.again = true;
    else
        arm(parent);
}

void Watches::connection(Session::Change change)
{
    std::vector<std::string> paths;
    for (auto const& [path, parent] : parents_)
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

void Watches::arm(std::string const& parent)
{
    auto& armed = parents_.at(parent);
    armed.arming = true;
    armed.again = false;
    session_->ask(
        {Question::Kind::children, parent, {}, -1, true}, [self = shared_from_this(), parent](Answer const& answer) {
            if (answer.code != ZNONODE) {
                self->armed(parent, answer);
                return;
            }
            // there is nothing to watch before the first key is taken, or after the server removed an empty parent
            self->ensemble_->make_parent(self->session_, parent, [self, parent](Answer const& made) {
                auto const found = self->parents_.find(parent);
                if (found == self->parents_.end())
                    return;
                if (made.code == ZOK || made.code == ZNODEEXISTS)
                    self->arm(parent);
                else
                    self->armed(parent, made);
            });
        });
}

void Watches::armed(std::string const& parent, Answer const& answer)
{
    auto const found = parents_.find(parent);
    if (found == parents_.end())
        return;
    found->second.arming = false;
    if (found->second.again && session_->connected()) {
        arm(parent);
        return;
    }
    if (answer.code != ZOK) {
        // without a connection it is set again as soon as there is one
        if (is_answered(answer.code))
            tell(parent, [](Subscriber& subscriber) { (*subscriber.handler)(WatchEvent::unavailable); });
        return;
    }
    tell(parent, [&](Subscriber& subscriber) {
        auto const nodes = ensemble_->nodes(*subscriber.range);
        auto const held = static_cast<std::uint32_t>(std::ranges::count_if(
            answer.children, [&](std::string const& name) { return nodes.index_of(name).has_value(); }));
        if (!std::exchange(subscriber.in_force, true))
            (*subscriber.handler)(WatchEvent::in_force);
        else if (held < subscriber.range->count)
            (*subscriber.handler)(WatchEvent::hint);
    });
}

void Watches::tell(std::string const& parent, std::function<void(Subscriber&)> const& what)
{
    // whoever is told may end any watch, and begin others
    std::vector<std::uint64_t> ids;
    auto const self = shared_from_this();
    if (auto const found = parents_.find(parent); found != parents_.end())
        for (auto const& [id, subscriber] : found->second.subscribers)
            ids.push_back(id);
    for (auto const id : ids) {
        auto const found = parents_.find(parent);
        if (found == parents_.end())
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
    parents_.clear();
}

} // namespace tenure::zookeeper
