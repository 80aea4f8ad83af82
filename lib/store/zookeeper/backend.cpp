// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Backend of ZooKeeper.
#include "backend.hpp"

#include "config.hpp"
#include "operations.hpp"
#include "watches.hpp"

#include <runtime/if_alive.hpp>
#include <tenure/backend/renew_each.hpp>

#include <utility>

namespace tenure::zookeeper
{

namespace
{

/** Backend of ZooKeeper: hands each request to the function that executes it. Pending requests own the ensemble, never
 *  this object. */
class ZookeeperBackend final : public Backend
{
public:
    ZookeeperBackend(std::shared_ptr<Runtime> runtime, ZookeeperConfig const& config, MakeLink make_link)
        : limits_(limits_of(config))
        , ensemble_(std::make_shared<Ensemble>(
              std::move(runtime), config, tenure::zookeeper::describe(config), std::move(make_link)))
        , watches_(std::make_shared<Watches>(ensemble_))
    {
        ensemble_->on_waiting(if_alive(std::weak_ptr(watches_), &Watches::follow));
    }
    ZookeeperBackend(ZookeeperBackend const&) = delete;
    ZookeeperBackend& operator=(ZookeeperBackend const&) = delete;
    ~ZookeeperBackend() override { ZookeeperBackend::shutdown(); }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {
            .ttl = limits_,
            .examines = true,
            .no_quarantine = "the server deletes the node of a session that ends at once, and nothing remembers it",
            .no_detach = "a node lasts as long as the session of its process, whose timeout the server does not change",
            .no_shares = nullptr,
            .no_list = nullptr};
    }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        zookeeper::claim(ensemble_, std::move(request), std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        renew_each(
            std::move(requests), std::move(handler), [this](RenewRequest request, ReplyHandler<RenewReply> reply_to) {
                zookeeper::renew(ensemble_, std::move(request), std::move(reply_to));
            });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        zookeeper::release(ensemble_, std::move(request), std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        zookeeper::withdraw(ensemble_, std::move(request)).start(std::move(handler));
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs as, WatchHandler handler) override
    {
        return watches_->watch(std::move(range), as, std::move(handler));
    }
    /** Ready once the session for queries is connected. The server accepts any digest login: a wrong password shows
     *  only at a node that the user may not use. */
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        auto const session = ensemble_->query_session();
        // the use keeps the session open meanwhile
        session->when_connected(
            std::move(not_after), [handler = std::move(handler), use = session->use()](Failure const* why) mutable {
                handler(why == nullptr ? ReadyReply(Ready{}) : ReadyReply(*why));
            });
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        zookeeper::inspect(ensemble_, std::move(request)).start(std::move(handler));
    }
    void list(ListRequest request, ReplyHandler<ListReply> handler) override
    {
        zookeeper::list(ensemble_, std::move(request)).start(std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        zookeeper::evict(ensemble_, std::move(request)).start(std::move(handler));
    }
    void examine(std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler) override
    {
        zookeeper::examine(ensemble_, ttl, not_after).start(std::move(handler));
    }
    void on_reachable(std::function<void()> handler) override { ensemble_->on_reachable(std::move(handler)); }
    void drop_abandoned() override { ensemble_->drop_abandoned(); }
    /** The timeout of each session limits the tolerated silence. */
    void shortest_ttl(std::chrono::milliseconds) override {}
    [[nodiscard]] std::string describe() const override { return ensemble_->name(); }

    void shutdown() noexcept override
    {
        // the destructor runs on any thread, and must have nothing left to do
        if (std::exchange(closed_, true))
            return;
        watches_->close();
        ensemble_->close();
    }

private:
    TtlLimits limits_;
    EnsemblePtr ensemble_;
    std::shared_ptr<Watches> watches_;
    bool closed_ = false;
};

} // namespace

std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, ZookeeperConfig const& config)
{
    return make_backend_over(nullptr, std::move(runtime), config);
}

std::shared_ptr<Backend>
make_backend_over(MakeLink make_link, std::shared_ptr<Runtime> runtime, ZookeeperConfig const& config)
{
    check_config(config);
    return std::make_shared<ZookeeperBackend>(std::move(runtime), config, std::move(make_link));
}

} // namespace tenure::zookeeper
