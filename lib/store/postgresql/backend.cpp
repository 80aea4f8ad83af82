// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Backend of PostgreSQL.
#include "backend.hpp"

#include "operations.hpp"
#include "watcher.hpp"

#include <utility>

namespace tenure::postgresql
{

namespace
{

/** Backend of PostgreSQL: hands each request to the function that executes it. Pending requests own the client, never
 *  this object. */
class PostgresqlBackend final : public Backend
{
public:
    PostgresqlBackend(std::shared_ptr<Runtime> runtime, PostgresqlConfig config)
        : description_(postgresql::describe(config))
        , client_(std::make_shared<Client>(std::move(runtime), std::move(config), description_))
        , watcher_(std::make_shared<Watcher>(client_))
    {
        watcher_->start();
    }
    PostgresqlBackend(PostgresqlBackend const&) = delete;
    PostgresqlBackend& operator=(PostgresqlBackend const&) = delete;
    ~PostgresqlBackend() override { PostgresqlBackend::shutdown(); }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {
            .examines = true,
            .no_quarantine = nullptr,
            .no_detach = nullptr,
            .no_shares = "this version keeps no places there",
            .no_list = nullptr};
    }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        postgresql::claim(client_, std::move(request)).start(std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        postgresql::renew(client_, std::move(requests), std::move(handler));
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        postgresql::release(client_, std::move(request)).start(std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        postgresql::withdraw(client_, std::move(request)).start(std::move(handler));
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs, WatchHandler handler) override
    {
        return watcher_->watch(*range, std::move(handler));
    }
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        postgresql::ready(client_, std::move(not_after)).start(std::move(handler));
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        postgresql::inspect(client_, std::move(request)).start(std::move(handler));
    }
    void list(ListRequest request, ReplyHandler<ListReply> handler) override
    {
        postgresql::list(client_, std::move(request)).start(std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        postgresql::evict(client_, std::move(request)).start(std::move(handler));
    }
    void examine(std::chrono::milliseconds ttl, Deadline not_after, ReplyHandler<Findings> handler) override
    {
        postgresql::examine(client_, ttl, std::move(not_after)).start(std::move(handler));
    }
    void on_reachable(std::function<void()> handler) override { client_->on_reachable(std::move(handler)); }
    void shortest_ttl(std::chrono::milliseconds ttl) override { client_->shortest_ttl(ttl); }
    void drop_abandoned() override { client_->drop_abandoned(); }
    [[nodiscard]] std::string describe() const override { return description_; }

    void shutdown() noexcept override
    {
        watcher_->close();
        client_->close();
    }

private:
    std::string description_;
    ClientPtr client_;
    std::shared_ptr<Watcher> watcher_;
};

} // namespace

std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, PostgresqlConfig config)
{
    check_config(config);
    return std::make_shared<PostgresqlBackend>(std::move(runtime), std::move(config));
}

} // namespace tenure::postgresql
