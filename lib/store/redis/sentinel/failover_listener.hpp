// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "sentinel_query.hpp"

#include <tenure/backend/runtime.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::redis
{

/** Listens to one sentinel's `+switch-master`, and to another one's when that falls silent. News is a hint: the owner
 *  then asks all sentinels. Everything belongs to the strand. */
class FailoverListener : public std::enable_shared_from_this<FailoverListener>
{
public:
    struct Handlers {
        /// the master is said to be there now
        std::function<void(ServerAddress)> switched;
        /// from now on nothing is missed; something may have been before
        std::function<void()> in_force;
        /// the subscription is lost, until `listen` finds another sentinel
        std::function<void()> lost;
    };

    FailoverListener(
        std::shared_ptr<Runtime> runtime, SentinelConnect connect, std::string master_name, std::string store_name,
        Handlers handlers);
    FailoverListener(FailoverListener const&) = delete;
    FailoverListener& operator=(FailoverListener const&) = delete;
    ~FailoverListener();

    /** Listens to one of those that answered just now, unless the one it listens to does well: its connection stands,
     * it is not among the `silent`, and not on the master's own host (they would go down together) if it can be
     * helped. */
    void listen(
        std::vector<ServerAddress> answered, std::vector<ServerAddress> const& silent,
        std::optional<ServerAddress> const& master);

    [[nodiscard]] bool in_force() const noexcept { return in_force_; }

    void close() noexcept;

private:
    void open(ServerAddress const& sentinel);
    void state_changed(ConnectionState state);
    void pushed(resp::Value const& push);
    void subscribe();
    void subscribed(Outcome const& outcome);
    void drop() noexcept;

    std::shared_ptr<Runtime> runtime_;
    SentinelConnect connect_;
    std::string master_name_;
    /// for the log
    std::string store_name_;
    Handlers handlers_;
    /// null without a subscription
    std::shared_ptr<Connection> connection_;
    ServerAddress sentinel_;
    /// counts connections: what an earlier one says late is ignored
    std::uint64_t connection_number_ = 0;
    /// those that refuse subscriptions: not asked again
    std::vector<ServerAddress> refused_by_;
    bool refusal_logged_ = false;
    bool in_force_ = false;
    bool closed_ = false;
};

} // namespace tenure::redis
