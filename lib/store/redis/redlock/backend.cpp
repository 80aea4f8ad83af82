// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Backend over a quorum of Redis servers.
#include "backend.hpp"

#include "claims.hpp"
#include "operations.hpp"

#include <config/url.hpp>
#include <store/redis/backend.hpp>
#include <store/redis/config/config.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tenure::redlock
{

namespace
{

/** Backend over a quorum: passes each request to the function that executes it on all nodes. */
class RedlockBackend final : public Backend
{
public:
    RedlockBackend(std::shared_ptr<Runtime> runtime, std::vector<Quorum::Voter> nodes)
        : quorum_(std::make_shared<Quorum const>(std::move(runtime), std::move(nodes)))
        , claims_(std::make_shared<Claims>(quorum_))
    {
    }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        auto all = redis::capabilities_of_redis(LockLayout::tenure);
        all.keeps_line = false;
        all.single_use_owners = true;
        all.no_shares = "several servers would order the places differently";
        return all;
    }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        Claims::claim(claims_, std::move(request), std::move(handler));
    }

    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        redlock::renew(quorum_, requests, std::move(handler));
    }

    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        claims_->stop(request.claim->owner);
        redlock::release(quorum_, std::move(request), std::move(handler));
    }

    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        claims_->stop(request.owner);
        redlock::withdraw(quorum_, std::move(request), std::move(handler));
    }

    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs, WatchHandler handler) override
    {
        return redlock::watch(quorum_, range, std::move(handler));
    }

    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        redlock::ready(quorum_, not_after, std::move(handler));
    }

    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        redlock::inspect(quorum_, std::move(request)).start(std::move(handler));
    }

    void list(ListRequest request, ReplyHandler<ListReply> handler) override
    {
        redlock::list(quorum_, std::move(request)).start(std::move(handler));
    }

    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        redlock::evict(quorum_, std::move(request), std::move(handler));
    }

    void examine(std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler) override
    {
        redlock::examine(quorum_, ttl, not_after).start(std::move(handler));
    }

    void on_reachable(std::function<void()> handler) override
    {
        for (auto const& node : quorum_->nodes())
            node->on_reachable(handler);
    }

    void shortest_ttl(std::chrono::milliseconds ttl) override
    {
        for (auto const& node : quorum_->nodes())
            node->shortest_ttl(ttl);
    }

    void drop_abandoned() override
    {
        claims_->drop_abandoned();
        for (auto const& node : quorum_->nodes())
            node->drop_abandoned();
    }
    [[nodiscard]] std::string describe() const override
    {
        // only host and port of each node, because the rest is equal for all
        auto name = schemes::redlock.prefix();
        for (auto const& node : quorum_->nodes()) {
            auto where = node->describe();
            where.erase(0, where.find("://") + 3);
            if (name.back() != '/')
                name += ',';
            name.append(where, 0, where.rfind('/'));
        }
        return name;
    }

    void shutdown() noexcept override
    {
        for (auto const& node : quorum_->nodes())
            node->shutdown();
        claims_->close();
    }

private:
    QuorumPtr quorum_;
    std::shared_ptr<Claims> claims_;
};

} // namespace

std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, std::vector<Quorum::Voter> nodes)
{
    return std::make_shared<RedlockBackend>(std::move(runtime), std::move(nodes));
}

std::shared_ptr<Backend>
make_backend(std::shared_ptr<Runtime> runtime, RedlockConfig const& config, redis::StreamFactory const& streams)
{
    redis::check_config(config);
    std::vector<Quorum::Voter> nodes;
    for (auto const& server : config.servers)
        nodes.push_back(redis::make_backend(runtime, server, streams));
    return make_backend(std::move(runtime), std::move(nodes));
}

} // namespace tenure::redlock
