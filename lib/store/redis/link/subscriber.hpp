// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "hedged_link.hpp"
#include "runtime/names.hpp"
#include "runtime/timer.hpp"
#include "store/hint_registry.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::redis
{

struct ServerError;

/** Makes the name of a store in lines of waiters: 32 random hex digits. */
[[nodiscard]] std::string make_waiter_name(Runtime& runtime);

/** Meaning of a message on the channel of a range for the named store: `our_turn`, `others_turn` or `hint`. Anything
 *  but a list of names, with or without a colon and a number, is a hint, such as an observer's "1" or a text of another
 *  program.
 *  @param held  gets the numbers of the named store: its places that hold now */
[[nodiscard]] WatchEvent
whose_turn(std::string_view message, std::string_view waiter, std::vector<std::uint64_t>* held = nullptr);

/** Subscriptions to notifications of freed keys. They use a separate connection, which is opened for the first
 *  watcher.
 *
 *  A channel stays subscribed for a while after its last watcher, and the connection stays open after its last channel,
 *  because a store that has waited will often wait again. */
class Subscriber : public std::enable_shared_from_this<Subscriber>
{
public:
    using Handler = WatchHandler;

    Subscriber(
        std::shared_ptr<Runtime> runtime, ConnectionFactory connect, std::string server_name, std::string waiter);
    Subscriber(Subscriber const&) = delete;
    Subscriber& operator=(Subscriber const&) = delete;
    ~Subscriber();

    /** Switches to channels of hash slots, which are subscribed with SSUBSCRIBE if the server has it (Redis 7).
     *  `moved` gets the channel that another node serves, and the reply. This node is not asked for it again before
     *  the next watcher. */
    void use_shards(std::function<void(std::string const& channel, resp::Value const& said)> moved)
    {
        moved_ = std::move(moved);
    }

    /** Subscribes. Destroying the returned watch ends the subscription. */
    [[nodiscard]] std::unique_ptr<Watch> watch(std::string channel, Handler handler);

    /** Ends all watches: their handlers are not called again. */
    void close() noexcept;

private:
    /** State of one channel. */
    enum class State {
        wanted,
        asked,
        in_force,
        refused,
        /// served by another node of the cluster
        moved
    };
    using Channels = store::HintRegistry<std::string, State>;

    void open();
    void subscribe(std::string const& name);
    void subscribe_wanted();
    [[nodiscard]] std::vector<std::string> channels_in(State state);
    void subscribed(std::string const& name, std::uint64_t connection, Outcome outcome);
    void log_refusal(std::string const& name, ServerError const& error) const;
    void state_changed(std::uint64_t connection, ConnectionState state);
    void pushed(resp::Value const& push);
    void heard(std::string const& channel, std::string_view message);
    void interrupted();
    [[nodiscard]] bool in_shards() const;
    void moved_away(std::string const& name, resp::Value const& said);
    void tick();
    void unsubscribe(std::string const& name);
    void drop_connection() noexcept;

    std::shared_ptr<Runtime> runtime_;
    ConnectionFactory connect_;
    /// unset: a single server
    std::function<void(std::string const&, resp::Value const&)> moved_;
    /// for the log
    std::string server_name_;
    /// name of this store in messages
    std::string waiter_;
    /// null without watchers
    std::shared_ptr<Connection> connection_;
    /// counts connections, so that late events of earlier ones are ignored
    std::uint64_t connection_number_ = 0;
    Channels channels_;
    Timer timer_;
    /// subscriptions of this connection that the server refused to end
    std::size_t left_behind_ = 0;
    /// a probe of the connection is unanswered
    bool probing_ = false;
    /// the refusal of subscriptions was logged
    bool refusal_logged_ = false;
    bool closed_ = false;
};

} // namespace tenure::redis
