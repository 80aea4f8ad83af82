// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "ending_watch.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::store
{

/** Watchers of the topics of a server's notifications, and the state of each topic.
 *
 *  A topic stays for a while after its last watcher, because a program that has waited will often wait again. The store
 *  subscribes and unsubscribes; this class only holds the handlers. Everything runs on the strand.
 *
 *  @tparam Topic  subject of notifications: a channel, a range of keys
 *  @tparam State  state that the store keeps for each topic */
template <class Topic, class State>
class HintRegistry
{
public:
    using Handler = WatchHandler;

    /// how long a topic stays without watchers
    static constexpr std::chrono::seconds linger{30};

    struct Entry {
        State state{};
        std::vector<std::weak_ptr<Handler>> watchers{};
        /// when the last watcher left
        Instant idle_since{};

        [[nodiscard]] bool watched() const noexcept { return !watchers.empty(); }
        /** True if the topic had no watcher for long enough to be removed. */
        [[nodiscard]] bool idle(Instant now) const noexcept { return !watched() && now >= idle_since + linger; }
    };
    using Entries = std::map<Topic, Entry, std::less<>>;

    explicit HintRegistry(std::shared_ptr<Runtime> runtime)
        : shared_(std::make_shared<Shared>(std::move(runtime)))
    {
    }

    HintRegistry(HintRegistry const&) = delete;
    HintRegistry& operator=(HintRegistry const&) = delete;
    ~HintRegistry() = default;

    /** Adds a watcher to the topic. Its handler gets `now`, if set, after the caller has returned. */
    [[nodiscard]] std::unique_ptr<Watch> add(Topic topic, Handler handler, std::optional<WatchEvent> now)
    {
        auto shared = std::make_shared<Handler>(std::move(handler));
        shared_->entries[topic].watchers.push_back(shared);
        if (now)
            notify_later(*shared_->runtime, shared, *now);
        // the watch has the only strong reference to the handler: without it the handler is not called
        return std::make_unique<EndingWatch>(
            [registry = std::weak_ptr(shared_), topic = std::move(topic), handler = std::move(shared)] {
                if (auto const alive = registry.lock())
                    remove(*alive, topic, handler);
            });
    }

    /** Makes a watch of a closed store: its handler is notified that no hints will come. */
    [[nodiscard]] std::unique_ptr<Watch> add_closed(Handler handler)
    {
        auto shared = std::make_shared<Handler>(std::move(handler));
        notify_later(*shared_->runtime, shared, WatchEvent::unavailable);
        return std::make_unique<EndingWatch>([handler = std::move(shared)] {});
    }

    [[nodiscard]] Entries& entries() noexcept { return shared_->entries; }
    /** The state of a topic, or null. */
    [[nodiscard]] State* find(Topic const& topic)
    {
        auto const found = shared_->entries.find(topic);
        return found == shared_->entries.end() ? nullptr : &found->second.state;
    }

    /** Notifies all watchers of the topic. They may begin and end watches meanwhile. */
    void notify(Topic const& topic, WatchNews news)
    {
        auto const found = shared_->entries.find(topic);
        if (found == shared_->entries.end())
            return;
        // A copy, because handlers change the list. A watch that has ended meanwhile is not called.
        auto const watchers = found->second.watchers;
        for (auto const& watcher : watchers)
            if (auto const handler = watcher.lock())
                (*handler)(news);
    }

    /** Removes all topics: remaining watches are not notified again. */
    void clear() noexcept { shared_->entries.clear(); }

private:
    struct Shared {
        explicit Shared(std::shared_ptr<Runtime> of)
            : runtime(std::move(of))
        {
        }
        std::shared_ptr<Runtime> runtime;
        Entries entries;
    };

    static void remove(Shared& registry, Topic const& topic, std::shared_ptr<Handler> const& handler)
    {
        auto const found = registry.entries.find(topic);
        if (found == registry.entries.end())
            return;
        auto& watchers = found->second.watchers;
        // the handler of the watch that ends has not expired yet
        std::erase_if(watchers, [&handler](std::weak_ptr<Handler> const& watcher) {
            auto const alive = watcher.lock();
            return alive == nullptr || alive == handler;
        });
        if (watchers.empty())
            found->second.idle_since = registry.runtime->now();
    }

    static void notify_later(Runtime& runtime, std::weak_ptr<Handler> handler, WatchEvent event)
    {
        runtime.post([handler = std::move(handler), event] {
            if (auto const alive = handler.lock())
                (*alive)(event);
        });
    }

    std::shared_ptr<Shared> shared_;
};

} // namespace tenure::store
