// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
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

/** Subscribes to `+switch-master` at one sentinel, and at another if the first falls silent. A message is a hint: the
 *  owner then asks all sentinels. Everything runs on the strand. */
class FailoverListener : public std::enable_shared_from_this<FailoverListener>
{
public:
    struct Handlers {
        /// a message has named this address as the master
        std::function<void(ServerAddress)> switched;
        /// messages arrive from now on; earlier ones may have been missed
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

    /** Listens to one of the sentinels that have just answered. It keeps the current one if that is connected, not
     *  among the `silent`, and preferably not on the master's host, because they would fail together. */
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
    /// counts connections, so that late events of earlier ones are ignored
    std::uint64_t connection_number_ = 0;
    /// sentinels that refuse subscriptions, and are not asked again
    std::vector<ServerAddress> refused_by_;
    bool refusal_logged_ = false;
    bool in_force_ = false;
    /// `lost` was called since the connection was opened or worked
    bool loss_reported_ = false;
    bool closed_ = false;
};

} // namespace tenure::redis
