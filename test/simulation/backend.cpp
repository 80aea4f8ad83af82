// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "backend.hpp"

#include "process.hpp"

#include "harness/immovable.hpp"

#include <tenure/backend/renew_each.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace tenure::simulation
{

namespace
{

Ns to_ns(std::chrono::milliseconds time)
{
    return std::chrono::nanoseconds(time).count();
}

class Subscription final : public Watch, test::Immovable
{
public:
    Subscription(Link& link, RangeId range) noexcept
        : link_(link)
        , range_(range)
    {
    }
    ~Subscription() override { link_.unwatch(range_); }

private:
    Link& link_;
    RangeId range_;
};

class SimulatedBackend final : public Backend
{
public:
    SimulatedBackend(Link& link, Process& process) noexcept
        : link_(link)
        , process_(process)
    {
    }

    [[nodiscard]] Capabilities capabilities() const noexcept override
    {
        return {
            .keeps_line = process_.settings().line,
            .frees_silently = process_.settings().silent_releases,
            .no_quarantine = nullptr,
            .no_detach = nullptr};
    }
    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        auto asked = about(Message::Kind::claim, *request.range, request.owner);
        asked.message.ttl = to_ns(request.ttl);
        asked.message.fencing = request.fencing;
        asked.message.search_own = request.earliest_attempt.has_value();
        asked.message.reuse_after = to_ns(request.reuse_after);
        asked.earliest_attempt = request.earliest_attempt;
        asked.message.waits = request.waits;
        asked.message.index = static_cast<std::uint8_t>(request.range->first);
        asked.message.only = request.range->count == 1;
        ask(std::move(asked), request.not_after, std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        // each is a message of its own: some get lost
        renew_each(
            std::move(requests), std::move(handler),
            [this](RenewRequest const& request, ReplyHandler<RenewReply> reply_to) {
                auto asked = about(Message::Kind::renew, *request.claim);
                asked.message.ttl = to_ns(request.ttl);
                asked.message.reuse_after = to_ns(request.claim->reuse_after);
                ask(std::move(asked), request.not_after, std::move(reply_to));
            });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        auto asked = about(Message::Kind::release, *request.claim);
        asked.message.reuse_after = to_ns(request.claim->reuse_after);
        asked.message.notifications = request.notifications;
        asked.message.keep_for = to_ns(request.keep_for.value_or(std::chrono::milliseconds{0}));
        ask(std::move(asked), request.not_after, std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        auto asked = about(Message::Kind::withdraw, *request.range, request.owner);
        asked.message.reuse_after = to_ns(request.reuse_after);
        asked.message.notifications = request.notifications;
        ask(std::move(asked), request.not_after, std::move(handler));
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr range, WatchAs, WatchHandler handler) override
    {
        auto const id = range_id(*range);
        link_.watch(id, std::move(handler));
        return std::make_unique<Subscription>(link_, id);
    }
    void leave_line(KeyRangePtr range) override { link_.leave_line(range_id(*range)); }
    void ready(Deadline, ReplyHandler<ReadyReply> handler) override
    {
        process_.on_strand([handler = std::move(handler)]() mutable { std::move(handler)(Ready{}); });
    }
    void inspect(InspectRequest, ReplyHandler<InspectReply> handler) override
    {
        process_.on_strand([handler = std::move(handler)]() mutable { std::move(handler)(std::vector<KeyState>()); });
    }
    void evict(EvictRequest, ReplyHandler<EvictReply> handler) override
    {
        process_.on_strand([handler = std::move(handler)]() mutable { std::move(handler)(NotOwner{}); });
    }
    void on_reachable(std::function<void()> handler) override { link_.on_reachable(std::move(handler)); }
    void shortest_ttl(std::chrono::milliseconds) override {}
    void drop_abandoned() override { link_.drop_abandoned(); }
    [[nodiscard]] std::string describe() const override { return "simulated://"; }
    void shutdown() noexcept override { link_.clear(); }

private:
    [[nodiscard]] static Link::Request about(Message::Kind kind, KeyRange const& range, std::string_view owner)
    {
        Link::Request request;
        request.message.kind = kind;
        request.message.range = range_id(range);
        request.message.owner = owner_id(owner);
        return request;
    }
    [[nodiscard]] static Link::Request about(Message::Kind kind, Claim const& claim)
    {
        auto request = about(kind, *claim.range, claim.owner);
        request.message.index = static_cast<std::uint8_t>(claim.index);
        return request;
    }
    template <class Handler>
    void ask(Link::Request request, Deadline not_after, Handler handler)
    {
        request.not_after = not_after;
        request.handler.emplace(std::move(handler));
        link_.ask(std::move(request));
    }

    Link& link_;
    Process& process_;
};

} // namespace

std::shared_ptr<Backend> make_backend(Link& link, Process& process)
{
    return std::make_shared<SimulatedBackend>(link, process);
}

} // namespace tenure::simulation
