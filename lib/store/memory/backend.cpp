// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Backend in memory.
#include "backend.hpp"

#include "domain.hpp"
#include "store/ending_watch.hpp"

#include <config/url.hpp>

#include <utility>
#include <vector>

namespace tenure::memory
{

namespace
{

/** Backend in memory. Each operation acts on the domain at once and posts its reply. */
class MemoryBackend final : public Backend
{
public:
    MemoryBackend(std::shared_ptr<Runtime> runtime, std::string const& name)
        : runtime_(std::move(runtime))
        , domain_(Domain::named(name))
        , name_(domain_->new_store())
        , description_(schemes::memory.prefix() + name)
    {
    }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {
            .keeps_line = true,
            .examines = true,
            .no_quarantine = nullptr,
            .no_detach = nullptr,
            .no_shares = nullptr,
            .no_list = nullptr};
    }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        reply(domain_->claim(request, runtime_->now(), name_), std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        std::vector<RenewAnswer> answers;
        answers.reserve(requests.size());
        for (auto const& request : requests)
            answers.push_back({answers.size(), domain_->renew(request, runtime_->now())});
        runtime_->post([answers = std::move(answers), handler = std::move(handler)]() mutable { handler(answers); });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        reply(domain_->release(request, runtime_->now(), name_), std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        reply(domain_->withdraw(request, runtime_->now(), name_), std::move(handler));
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs as, WatchHandler handler) override
    {
        auto const owned = std::make_shared<WatchHandler>(std::move(handler));
        // posts an event to the handler on the strand, unless the watch was destroyed by then
        WatchHandler const notify = [runtime = std::weak_ptr(runtime_), weak = std::weak_ptr(owned)](WatchNews news) {
            if (auto const strand = runtime.lock())
                strand->post([weak, event = news.event, held = std::vector(news.held.begin(), news.held.end())] {
                    if (auto const alive = weak.lock())
                        (*alive)({event, held});
                });
        };
        auto const id = domain_->subscribe(notify, *range, as, name_);
        notify(WatchEvent::in_force);
        return std::make_unique<store::EndingWatch>([domain = domain_, owned, id] { domain->unsubscribe(id); });
    }
    void leave_line(KeyRangePtr range) override { domain_->leave_line(*range, name_); }
    void ready(Deadline, ReplyHandler<ReadyReply> handler) override { reply(ReadyReply(Ready{}), std::move(handler)); }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        reply(InspectReply(domain_->inspect(*request.range, runtime_->now())), std::move(handler));
    }
    void list(ListRequest request, ReplyHandler<ListReply> handler) override
    {
        reply(ListReply(domain_->list(request, runtime_->now())), std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        reply(domain_->evict(request, runtime_->now()), std::move(handler));
    }
    void examine(std::chrono::milliseconds, Deadline, ReplyHandler<Findings> handler) override
    {
        Findings findings;
        findings.push_back(
            {Finding::Severity::ok, "store", "in this process; leases end with it and are shared with no other", ""});
        reply(std::move(findings), std::move(handler));
    }
    void on_reachable(std::function<void()>) override {}
    void shortest_ttl(std::chrono::milliseconds) override {}
    [[nodiscard]] std::string describe() const override { return description_; }

    void shutdown() noexcept override {}

private:
    template <class Reply>
    void reply(Reply answer, ReplyHandler<Reply> handler)
    {
        runtime_->post([answer = std::move(answer), handler = std::move(handler)]() mutable {
            std::move(handler)(std::move(answer));
        });
    }

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Domain> domain_;
    /// identifies this store in lines
    StoreName name_;
    std::string description_;
};

} // namespace

std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, std::string const& name)
{
    return std::make_shared<MemoryBackend>(std::move(runtime), name);
}

} // namespace tenure::memory
