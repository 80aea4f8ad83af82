// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Simulated store: a backend that fails on demand.
#include "store/memory/domain.hpp"
#include "virtual_time.hpp"

#include <tenure/backend/renew_each.hpp>
#include <tenure/errc.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace tenure::testing
{

struct SimulatedStore::State {
    explicit State(VirtualTime& of)
        : time(of)
    {
    }

    VirtualTime& time;
    std::shared_ptr<memory::Domain> domain = memory::Domain::named("");
    Clock::duration delay{};
    bool reachable = true;
    bool answers_lost = false;
    /// of the stores that are open
    std::vector<std::function<void()>> on_reachable;
    std::uint64_t opened = 0;

    void report_reachable() const;
};

namespace
{

/// a client gives an answer up after this time
constexpr std::chrono::seconds patience{1};

class Subscription final : public Watch
{
public:
    Subscription(
        std::shared_ptr<Runtime> const& runtime, std::shared_ptr<memory::Domain> domain, KeyRange const& range,
        WatchAs as, memory::StoreName store, WatchHandler handler)
        : domain_(std::move(domain))
        , handler_(std::make_shared<WatchHandler>(std::move(handler)))
    {
        auto notify = [runtime = std::weak_ptr(runtime), handler = std::weak_ptr(handler_)](WatchNews news) {
            if (auto const strand = runtime.lock())
                strand->post([handler, event = news.event, held = std::vector(news.held.begin(), news.held.end())] {
                    if (auto const alive = handler.lock())
                        (*alive)({event, held});
                });
        };
        id_ = domain_->subscribe(notify, range, as, store);
        notify(WatchEvent::in_force);
    }
    Subscription(Subscription const&) = delete;
    Subscription& operator=(Subscription const&) = delete;
    ~Subscription() override { domain_->unsubscribe(id_); }

private:
    std::shared_ptr<memory::Domain> domain_;
    std::shared_ptr<WatchHandler> handler_;
    std::uint64_t id_ = 0;
};

class FailingBackend final : public Backend
{
public:
    FailingBackend(std::shared_ptr<Runtime> runtime, std::shared_ptr<SimulatedStore::State> state)
        : runtime_(std::move(runtime))
        , state_(std::move(state))
        , name_(state_->domain->new_store())
    {
    }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {
            .keeps_line = true,
            .no_quarantine = nullptr,
            .no_detach = nullptr,
            .no_shares = nullptr,
            .no_list = nullptr};
    }
    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        if (state_->reachable)
            request.not_after.progressed(runtime_->now());
        ask<ClaimReply>([&](Instant now) { return state_->domain->claim(request, now, name_); }, std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        renew_each(
            std::move(requests), std::move(handler),
            [this](RenewRequest const& request, ReplyHandler<RenewReply> reply_to) {
                ask<RenewReply>([&](Instant now) { return state_->domain->renew(request, now); }, std::move(reply_to));
            });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        ask<ReleaseReply>(
            [&](Instant now) { return state_->domain->release(request, now, name_); }, std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        ask<WithdrawReply>(
            [&](Instant now) { return state_->domain->withdraw(request, now, name_); }, std::move(handler));
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs as, WatchHandler handler) override
    {
        return std::make_unique<Subscription>(runtime_, state_->domain, *range, as, name_, std::move(handler));
    }
    void leave_line(KeyRangePtr range) override
    {
        if (state_->reachable)
            state_->domain->leave_line(*range, name_);
    }
    void ready(Deadline, ReplyHandler<ReadyReply> handler) override
    {
        ask<ReadyReply>([](Instant) { return Ready{}; }, std::move(handler));
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        ask<InspectReply>(
            [&](Instant now) { return state_->domain->inspect(*request.range, now); }, std::move(handler));
    }
    void list(ListRequest request, ReplyHandler<ListReply> handler) override
    {
        ask<ListReply>([&](Instant now) { return state_->domain->list(request, now); }, std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        ask<EvictReply>([&](Instant now) { return state_->domain->evict(request, now); }, std::move(handler));
    }
    void on_reachable(std::function<void()> handler) override
    {
        state_->on_reachable.emplace_back([runtime = std::weak_ptr(runtime_), handler = std::move(handler)] {
            if (auto const strand = runtime.lock())
                strand->post(handler);
        });
    }
    void shortest_ttl(std::chrono::milliseconds) override {}
    [[nodiscard]] std::string describe() const override { return "simulated://"; }
    void shutdown() noexcept override {}

private:
    template <class Reply, class Execute>
    void ask(Execute execute, ReplyHandler<Reply> handler)
    {
        auto const unavailable = make_error_code(errc::store_unavailable);
        if (!state_->reachable) {
            reply(
                Reply(Failure::not_sent(unavailable, "the simulated store is not reachable")), std::move(handler), {});
            return;
        }
        auto answer = Reply(execute(runtime_->now()));
        if (state_->answers_lost)
            reply(
                Reply(Failure::unknown(unavailable, "the simulated store's answer is lost")), std::move(handler),
                patience);
        else
            reply(std::move(answer), std::move(handler), state_->delay);
    }

    template <class Reply>
    void reply(Reply answer, ReplyHandler<Reply> handler, Clock::duration delay)
    {
        Task task = [answer = std::move(answer), handler = std::move(handler)]() mutable {
            std::move(handler)(std::move(answer));
        };
        if (delay == Clock::duration::zero())
            runtime_->post(std::move(task));
        else
            runtime_->call_at(runtime_->now() + delay, std::move(task));
    }

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<SimulatedStore::State> state_;
    /// in lines
    memory::StoreName name_;
};

} // namespace

SimulatedStore::SimulatedStore(VirtualTime& time)
    : state_(std::make_shared<State>(time))
{
}

Store SimulatedStore::open(std::string worker_name)
{
    auto runtime = make_runtime(state_->time, ++state_->opened);
    auto backend = std::make_shared<FailingBackend>(runtime, state_);
    return {std::move(runtime), std::move(backend), StoreOptions{std::move(worker_name), {}}};
}

void SimulatedStore::answer_after(Clock::duration delay)
{
    state_->delay = delay;
}

void SimulatedStore::State::report_reachable() const
{
    for (auto const& notify : on_reachable)
        notify();
}

void SimulatedStore::set_reachable(bool reachable)
{
    bool const again = reachable && !state_->reachable;
    state_->reachable = reachable;
    if (again)
        state_->report_reachable();
}

void SimulatedStore::set_answers_lost(bool lost)
{
    // a client opens another connection while the old one is silent
    bool const again = !lost && state_->answers_lost && state_->reachable;
    state_->answers_lost = lost;
    if (again)
        state_->report_reachable();
}

void SimulatedStore::remove(std::string const& key)
{
    state_->domain->remove(key);
}

void SimulatedStore::overwrite(std::string const& key, std::chrono::milliseconds ttl)
{
    state_->domain->overwrite(key, "another client", ttl, state_->time.now());
}

bool SimulatedStore::held(std::string const& key) const
{
    return state_->domain->held(key, state_->time.now());
}

} // namespace tenure::testing
