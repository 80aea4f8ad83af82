// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "failover_listener.hpp"
#include "runtime/names.hpp"
#include "sentinel_query.hpp"

#include <runtime/timer.hpp>

#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenure::redis
{

/** Finds the master: asks the sentinels when a connection needs the address, and listens to one of them meanwhile.
 *
 *  One for all connections of a store. Everything runs on the strand. */
class MasterResolver : public std::enable_shared_from_this<MasterResolver>
{
public:
    struct Settings {
        /// name of the store, for the log
        std::string name;
        std::string master_name;
        std::vector<ServerAddress> sentinels;
        /// time limit of a connection; a part of it is reserved for connecting to the master
        std::chrono::milliseconds connect_timeout;
    };
    using Answer = std::variant<ServerAddress, StreamError>;
    using Handler = std::function<void(Answer const&)>;

    MasterResolver(std::shared_ptr<Runtime> runtime, Settings settings, SentinelConnect connect);
    MasterResolver(MasterResolver const&) = delete;
    MasterResolver& operator=(MasterResolver const&) = delete;
    ~MasterResolver();

    /** Asks the sentinels. The handler is called once, never inside this call, unless `forget` or `close` comes first.
     */
    std::uint64_t find(Handler handler);
    void forget(std::uint64_t request) noexcept { requests_.erase(request); }

    /** Calls the handler each time the sentinels name another master, while `owner` lives. The handler of the newest
     *  owner comes first: a stream must end before the connection that made it tries again. */
    void follow(std::weak_ptr<void> owner, std::function<void(ServerAddress const&)> handler);

    void close() noexcept;

private:
    struct Follower {
        std::weak_ptr<void> owner;
        std::function<void(ServerAddress const&)> handler;
    };

    void start_query();
    void concluded(SentinelQuery::Result result);
    void found(MasterVote::Found const& found);
    void hinted(ServerAddress address);
    void listen(SentinelQuery::Result&& result);
    /// a subscription was lost
    void unwatched();
    void answer_requests(Answer const& answer);
    /** Begins a query after the pause, or when an earlier one is due. */
    void query_later(std::chrono::milliseconds pause)
    {
        timer_.by(runtime_->now() + pause, weak_from_this(), &MasterResolver::start_query);
    }

    std::shared_ptr<Runtime> runtime_;
    Settings settings_;
    SentinelConnect connect_;
    std::shared_ptr<FailoverListener> listener_;
    /// null without a pending query
    std::shared_ptr<SentinelQuery> query_;
    std::map<std::uint64_t, Handler> requests_;
    std::uint64_t last_request_ = 0;
    /// sentinels that other sentinels have named
    std::vector<SentinelEntry> learned_;
    std::optional<ServerAddress> master_;
    /// config epoch of the last result
    std::uint64_t epoch_ = 0;
    /// address in the last hint, until the sentinels agree or the limit of queries is reached
    std::optional<ServerAddress> hint_;
    int hint_rounds_ = 0;
    /// changes may have been missed after the pending query began: another one is due
    bool again_ = false;
    /// begin of the subscription at a sentinel; unset: none is in force
    std::optional<Instant> watched_since_;
    /// subscriptions in a row that ended early or never began
    int lost_early_ = 0;
    std::vector<Follower> followers_;
    /// for the next query: soon after a hint, periodically without a subscription
    Timer timer_;
    bool closed_ = false;
};

} // namespace tenure::redis
