// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Backend of one Redis server.
#include "backend.hpp"

#include "key_names.hpp"
#include "observer.hpp"
#include "operations.hpp"
#include "releases.hpp"
#include "renewals.hpp"
#include "server_context.hpp"
#include "store/redis/claim/claim.hpp"
#include "store/redis/config/config.hpp"
#include "store/redis/diagnose/examine.hpp"
#include "store/redis/link/connection.hpp"
#include "store/redis/link/replicated_channel.hpp"
#include "store/redis/link/subscriber.hpp"
#include "store/redis/shares/places.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tenure::redis
{

namespace
{

ServerSettings server_settings(BackendSettings const& settings, std::string const& waiter)
{
    return {
        .name = settings.name,
        .waiter = waiter,
        .delay_after_failover = settings.delay_after_failover,
        .layout = settings.lock_layout};
}

/** Backend of one server: hands each request to the class that executes it. Pending requests own those classes, never
 *  this object, so dropping it closes the connections. */
class RedisBackend final : public VoterBackend
{
public:
    RedisBackend(std::shared_ptr<Runtime> runtime, ConnectionFactory const& connect, BackendSettings settings)
        : links_{std::make_shared<HedgedLink>(runtime, connect)}
        , waiter_(make_waiter_name(*runtime))
        , subscriber_(std::make_shared<Subscriber>(runtime, connect, settings.name, waiter_))
        , server_(std::make_shared<ServerContext>(runtime, links_.front(), server_settings(settings, waiter_)))
        , holding_node_(server_)
        , releases_(std::make_shared<Releases>(server_))
        , places_(std::make_shared<Places>(server_))
        , layout_(settings.lock_layout)
        , for_examination_{settings.replicas, settings.delay_after_failover, std::move(settings.connect_to)}
        , closed_(std::move(settings.closed))
    {
        if (settings.replicas.acknowledged_by > 0) {
            auto link = std::make_shared<HedgedLink>(runtime, [connect](std::string_view purpose) {
                return connect(
                    purpose.empty() ? std::string(replicated_purpose) : std::string(replicated_purpose) + ", second");
            });
            auto channel = std::make_shared<ReplicatedChannel>(runtime, link, settings.replicas);
            links_.push_back(std::move(link));
            holding_node_ = std::make_shared<ServerContext>(
                std::move(runtime), std::move(channel), server_settings(settings, waiter_));
        }
        claims_ = std::make_shared<Claims>(holding_node_);
    }

    RedisBackend(RedisBackend const&) = delete;
    RedisBackend& operator=(RedisBackend const&) = delete;
    ~RedisBackend() override { RedisBackend::shutdown(); }

    [[nodiscard]] Capabilities capabilities() const noexcept override { return capabilities_of_redis(layout_); }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        claims_->add(std::move(request), std::move(handler));
    }

    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        redis::renew(holding_node_, std::move(requests), std::move(handler));
    }

    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        bool const is_place = request.claim->range->shares;
        if (request.keep_for)
            (is_place ? detach_place : redis::detach)(server_, std::move(request)).start(std::move(handler));
        else if (is_place)
            places_->release(std::move(request), std::move(handler));
        else
            releases_->add(std::move(request), std::move(handler));
    }

    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        if (request.range->shares) {
            places_->withdraw(std::move(request), std::move(handler));
            return;
        }
        redis::withdraw(server_, std::move(request))
            .start([handler = std::move(handler)](CountedWithdrawReply&& counted) mutable {
                std::move(handler)(std::move(counted.reply));
            });
    }

    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs as, WatchHandler handler) override
    {
        // releases of Redisson's locks are always published
        if (as == WatchAs::waiter || server_->is_redisson(*range)) {
            // a place that has waited was not confirmed by replicas, so its number is no grant
            if (holding_node_ != server_)
                handler = [handler = std::move(handler)](WatchEvent event) { handler(event); };
            return subscriber_->watch(server_->channel_of(*range), std::move(handler));
        }
        auto const subscribe = [&](Observers::Handler observer) {
            return subscriber_->watch(channel_of(*range), std::move(observer));
        };
        return observers_.watch(server_, *range, subscribe, std::move(handler));
    }

    void leave_line(KeyRangePtr range) override { redis::leave_line(server_, std::move(range)); }
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        redis::ready(server_, not_after).start(std::move(handler));
    }

    void ready_to_vote(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        redis::ready_to_vote(server_, not_after).start(std::move(handler));
    }

    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        redis::inspect(server_, std::move(request)).start(std::move(handler));
    }

    void list(ListRequest request, ReplyHandler<ListReply> handler) override
    {
        redis::list(server_, std::move(request)).start(std::move(handler));
    }

    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        (request.range->shares ? evict_place : redis::evict)(server_, std::move(request)).start(std::move(handler));
    }

    void claim_vote(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        redis::claim_vote(server_, std::move(request), std::move(handler));
    }

    void inspect_with_tokens(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        redis::inspect(server_, std::move(request), true).start(std::move(handler));
    }

    void accept_token(TokenRequest request, ReplyHandler<TokenReply> handler) override
    {
        redis::accept_token(server_, std::move(request)).start(std::move(handler));
    }

    void examine(std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler) override
    {
        redis::examine(server_, for_examination_, ttl, not_after).start(std::move(handler));
    }

    void on_reachable(std::function<void()> handler) override
    {
        for (auto const& link : links_)
            link->on_reachable(handler);
    }

    void shortest_ttl(std::chrono::milliseconds ttl) override
    {
        for (auto const& link : links_)
            link->shortest_ttl(ttl);
    }

    void drop_abandoned() override
    {
        for (auto const& link : links_)
            link->drop_abandoned();
    }
    [[nodiscard]] std::string describe() const override { return server_->name(); }

    void shutdown() noexcept override
    {
        for (auto const& link : links_)
            link->close();
        subscriber_->close();
        observers_.close();
        // the destructor runs on any thread, and must have nothing left to do or write
        if (closed_)
            std::exchange(closed_, nullptr)();
    }

private:
    /// the first carries everything; a second one only claims and renewals that replicas must acknowledge
    std::vector<std::shared_ptr<HedgedLink>> links_;
    /// name of this store in lines of waiters
    std::string waiter_;
    std::shared_ptr<Subscriber> subscriber_;
    Observers observers_;
    ServerPtr server_;
    /// the server, reached through the second link; without one, `server_`
    ServerPtr holding_node_;
    std::shared_ptr<Claims> claims_;
    std::shared_ptr<Releases> releases_;
    std::shared_ptr<Places> places_;
    LockLayout layout_;
    ExamineSettings for_examination_;
    /// null once called
    std::function<void()> closed_;
};

} // namespace

std::shared_ptr<VoterBackend>
make_backend(std::shared_ptr<Runtime> runtime, RedisConfig const& config, StreamFactory streams)
{
    check_config(config);
    BackendSettings settings{describe(config), config.replicas, config.delay_after_failover};
    settings.lock_layout = config.lock_layout;
    settings.connect_to = connect_to_replicas(runtime, config, streams);
    auto connect = connections_to(runtime, config, std::move(streams), {.name = settings.name, .proves_scripts = true});
    return make_backend(std::move(runtime), std::move(connect), std::move(settings));
}

std::shared_ptr<VoterBackend>
make_backend(std::shared_ptr<Runtime> runtime, ConnectionFactory connect, BackendSettings settings)
{
    return std::make_shared<RedisBackend>(std::move(runtime), connect, std::move(settings));
}

} // namespace tenure::redis
