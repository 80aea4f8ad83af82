// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Backend of etcd.
#include "backend.hpp"

#include "cluster_context.hpp"
#include "config.hpp"
#include "operations.hpp"
#include "store/etcd/http/client.hpp"
#include "watcher.hpp"

#include <tenure/backend/renew_each.hpp>

#include <utility>

namespace tenure::etcd
{

namespace
{

/// the server grants no lease shorter than one and a half of its election timeouts, in whole seconds
constexpr std::chrono::seconds shortest_lease{2};

/** Backend of etcd: hands each request to the class or function that executes it. Pending requests own those parts,
 *  never this object, so dropping it closes the connections. */
class EtcdBackend final : public Backend
{
public:
    EtcdBackend(std::shared_ptr<Runtime> runtime, EtcdConfig config, StreamFactory streams)
        : description_(etcd::describe(config))
        , client_(std::make_shared<Client>(std::move(runtime), std::move(config), std::move(streams), description_))
        , cluster_(std::make_shared<ClusterContext>(client_))
        , watcher_(std::make_shared<Watcher>(cluster_))
    {
        watcher_->start();
    }

    EtcdBackend(EtcdBackend const&) = delete;
    EtcdBackend& operator=(EtcdBackend const&) = delete;
    ~EtcdBackend() override { EtcdBackend::shutdown(); }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {
            .ttl = {.shortest = shortest_lease},
            .examines = true,
            .no_quarantine = nullptr,
            .no_detach = nullptr,
            .no_shares = nullptr,
            .no_list = nullptr};
    }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        etcd::claim(cluster_, std::move(request), std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        renew_each(
            std::move(requests), std::move(handler), [this](RenewRequest request, ReplyHandler<RenewReply> reply_to) {
                etcd::renew(cluster_, std::move(request), std::move(reply_to));
            });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        etcd::release(cluster_, std::move(request)).start(std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        etcd::withdraw(cluster_, std::move(request)).start(std::move(handler));
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs, WatchHandler handler) override
    {
        return watcher_->watch(*range, std::move(handler));
    }

    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        etcd::ready(cluster_, not_after).start(std::move(handler));
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        etcd::inspect(cluster_, std::move(request)).start(std::move(handler));
    }
    void list(ListRequest request, ReplyHandler<ListReply> handler) override
    {
        etcd::list(cluster_, std::move(request)).start(std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        etcd::evict(cluster_, std::move(request)).start(std::move(handler));
    }
    void examine(std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler) override
    {
        etcd::examine(cluster_, ttl, not_after).start(std::move(handler));
    }
    void on_reachable(std::function<void()> handler) override { client_->on_reachable(std::move(handler)); }
    void shortest_ttl(std::chrono::milliseconds ttl) override { client_->shortest_ttl(ttl); }
    void drop_abandoned() override { client_->drop_abandoned(); }
    [[nodiscard]] std::string describe() const override { return description_; }

    void shutdown() noexcept override
    {
        watcher_->close();
        cluster_->leases->close();
        client_->close();
    }

private:
    std::string description_;
    ClientPtr client_;
    ClusterPtr cluster_;
    std::shared_ptr<Watcher> watcher_;
};

} // namespace

std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, EtcdConfig config, StreamFactory streams)
{
    check_config(config);
    return std::make_shared<EtcdBackend>(std::move(runtime), std::move(config), std::move(streams));
}

} // namespace tenure::etcd
