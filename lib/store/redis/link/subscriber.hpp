// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "hedged_link.hpp"
#include "runtime/timer.hpp"
#include "store/hint_registry.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::redis
{

/** A name under which a store stands in lines of waiters: 32 hex digits that no other store has. */
[[nodiscard]] std::string make_waiter_name(Runtime& runtime);

/** What a message on the channel of a range says to the store of that name: `our_turn`, `others_turn` or `hint`. What
 * is no list of names, from an observer's "1" to another program's text, is a hint. */
[[nodiscard]] WatchEvent whose_turn(std::string_view message, std::string_view waiter) noexcept;

/** Subscriptions to news of freed keys, over a connection of their own, which is opened for the first watcher and
 * carries nothing else.
 *
 *  A channel stays subscribed for a while after its last watcher, and the connection after its last channel: a
 * store that waits once often waits again.
 */
class Subscriber : public std::enable_shared_from_this<Subscriber>
{
    struct Private {
        explicit Private() = default;
    };

public:
    using Handler = std::function<void(WatchEvent)>;

    [[nodiscard]] static std::shared_ptr<Subscriber>
    make(std::shared_ptr<Runtime> runtime, ConnectionFactory connect, std::string server_name, std::string waiter);
    Subscriber(
        Private, std::shared_ptr<Runtime> runtime, ConnectionFactory connect, std::string server_name,
        std::string waiter);
    Subscriber(Subscriber const&) = delete;
    Subscriber& operator=(Subscriber const&) = delete;
    ~Subscriber();

    /** From now on channels belong to hash slots of a cluster, and are subscribed with SSUBSCRIBE where the server has
     * it (Redis 7). `moved` is told of a channel that is at another node, and what this one said; it is not asked for
     * here again before another watcher comes. */
    void use_shards(std::function<void(std::string const& channel, resp::Value const& said)> moved)
    {
        moved_ = std::move(moved);
    }

    /** Subscribes; destroying what is returned ends it. */
    [[nodiscard]] std::unique_ptr<Watch> watch(std::string channel, Handler handler);

    /** Ends everything: the handlers of watches that still exist are not called again. */
    void close() noexcept;

private:
    /** Of one channel. */
    enum class State {
        wanted,
        asked,
        in_force,
        refused,
        /// at another node of the cluster
        moved
    };
    using Channels = store::HintRegistry<std::string, State>;

    void open();
    void subscribe(std::string const& name);
    void subscribe_wanted();
    [[nodiscard]] std::vector<std::string> channels_in(State state);
    void subscribed(std::string const& name, std::uint64_t connection, Outcome outcome);
    void state_changed(std::uint64_t connection, ConnectionState state);
    void pushed(resp::Value const& push);
    void interrupted();
    [[nodiscard]] bool in_shards() const;
    void moved_away(std::string const& name, resp::Value const& said);
    void tick();
    void drop_connection() noexcept;

    std::shared_ptr<Runtime> runtime_;
    ConnectionFactory connect_;
    /// unset: one server
    std::function<void(std::string const&, resp::Value const&)> moved_;
    /// for the log
    std::string server_name_;
    /// by which messages name this store
    std::string waiter_;
    /// null without watchers
    std::shared_ptr<Connection> connection_;
    /// counts connections: what an earlier one says late is ignored
    std::uint64_t connection_number_ = 0;
    Channels channels_;
    Timer timer_;
    /// a question asked to see whether the connection lives, and not answered yet
    bool probing_ = false;
    /// that subscribing is refused was logged
    bool refusal_logged_ = false;
    bool closed_ = false;
};

} // namespace tenure::redis
