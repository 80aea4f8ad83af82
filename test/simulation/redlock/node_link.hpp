// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "node_server.hpp"

#include "../random.hpp"

#include <store/redis/backend.hpp>

#include <tenure/backend/renew_each.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/errc.hpp>

#include <functional>
#include <memory>
#include <string>

namespace tenure::simulation
{

/** The state of the links between all clients and one server. */
struct NodeState {
    explicit NodeState(NodeServer what)
        : server(std::move(what))
    {
    }

    NodeServer server;
    /// it is paused until then: what arrives waits
    Instant stopped_until{};
    /// it is unavailable until then: what arrives is lost
    Instant away_until{};
    /// it has lost its data at least once
    bool forgot = false;
};

/** One client's way to one server. Messages take their time, in order; some get lost, and then what was asked for may
 * have happened, or happens long after the client gave it up. */
class NodeLink final : public redis::VoterBackend
{
public:
    NodeLink(std::shared_ptr<Runtime> runtime, std::shared_ptr<NodeState> node, std::string name, std::uint64_t seed)
        : runtime_(std::move(runtime))
        , node_(std::move(node))
        , name_(std::move(name))
        , random_(seed)
    {
    }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        auto const since = runtime_->now();
        ask<ClaimReply>(
            request.not_after,
            [node = node_, request, since](Instant now) { return node->server.claim(request, now, since); },
            std::move(handler));
    }
    void claim_vote(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        auto const since = runtime_->now();
        ask<ClaimReply>(
            request.not_after,
            [node = node_, request, since](Instant now) { return node->server.claim_vote(request, now, since); },
            std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        auto const since = runtime_->now();
        renew_each(
            std::move(requests), std::move(handler),
            [this, since](RenewRequest const& request, ReplyHandler<RenewReply> reply_to) {
                ask<RenewReply>(
                    request.not_after,
                    [node = node_, request, since](Instant now) { return node->server.renew(request, now, since); },
                    std::move(reply_to));
            });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        ask<ReleaseReply>(
            request.not_after, [node = node_, request](Instant now) { return node->server.release(request, now); },
            std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        ask<WithdrawReply>(
            request.not_after, [node = node_, request](Instant now) { return node->server.withdraw(request, now); },
            std::move(handler));
    }
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        ask<ReadyReply>(std::move(not_after), [](Instant) { return Ready{}; }, std::move(handler));
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        ask<InspectReply>(
            request.not_after,
            [node = node_, range = request.range](Instant now) { return node->server.inspect(*range, now); },
            std::move(handler));
    }
    void accept_token(redis::TokenRequest request, ReplyHandler<redis::TokenReply> handler) override
    {
        ask<redis::TokenReply>(
            request.not_after, [node = node_, request](Instant now) { return node->server.accept(request, now); },
            std::move(handler));
    }

    [[nodiscard]] std::unique_ptr<Watch> watch(KeyRangePtr, WatchAs, WatchHandler) override
    {
        return std::make_unique<Watch>();
    }
    void evict(EvictRequest, ReplyHandler<EvictReply> handler) override
    {
        runtime_->post([handler = std::move(handler)]() mutable { std::move(handler)(NotOwner{}); });
    }
    void examine(std::chrono::milliseconds, Deadline, ReplyHandler<Findings> handler) override
    {
        runtime_->post([handler = std::move(handler)]() mutable { std::move(handler)(Findings{}); });
    }
    void on_reachable(std::function<void()>) override {}
    void shortest_ttl(std::chrono::milliseconds) override {}
    [[nodiscard]] std::string describe() const override { return name_; }
    void shutdown() noexcept override {}

    /** Until then nothing gets through, either way. */
    void cut_until(Instant when) noexcept { cut_until_ = when; }
    /** Loses `of_ten_thousand` of 10,000 messages. */
    void lossy(std::uint32_t of_ten_thousand) noexcept { loss_ = of_ten_thousand; }

private:
    /// when a client gives up a connection that does not answer
    static constexpr std::chrono::milliseconds patience{300};

    [[nodiscard]] Clock::duration delay()
    {
        bool const slow = random_.chance(100);
        return std::chrono::microseconds(random_.between(50, slow ? 60'000 : 1'500));
    }

    [[nodiscard]] bool lost() { return runtime_->now() < cut_until_ || random_.chance(loss_); }

    /** One request under way. */
    template <class Reply>
    struct Exchange {
        ReplyHandler<Reply> handler;
        Runtime::TimerId limit = 0;
    };

    template <class Reply, class Execute>
    void ask(Deadline not_after, Execute execute, ReplyHandler<Reply> handler)
    {
        auto const now = runtime_->now();
        if (not_after.over(now)) {
            runtime_->post([handler = std::move(handler)]() mutable { std::move(handler)(Reply(Failure::dropped())); });
            return;
        }
        auto exchange = std::make_shared<Exchange<Reply>>();
        exchange->handler = std::move(handler);
        exchange->limit = runtime_->call_at(now + patience, [this, exchange] {
            // the connection is given up: what was written on it may still arrive, and in whatever order
            next_arrival_ = runtime_->now();
            std::exchange(exchange->handler, nullptr)(
                Reply(Failure::unknown(make_error_code(errc::store_unavailable), "no answer")));
        });
        if (lost())
            return;
        auto arrival = std::max(now + delay(), next_arrival_ + std::chrono::microseconds(1));
        next_arrival_ = arrival;
        runtime_->call_at(arrival, [this, exchange, execute] { arrive<Reply>(exchange, execute); });
    }

    template <class Reply, class Execute>
    void arrive(std::shared_ptr<Exchange<Reply>> const& exchange, Execute const& execute)
    {
        auto const now = runtime_->now();
        if (now < node_->away_until)
            return;
        if (now < node_->stopped_until) {
            runtime_->call_at(node_->stopped_until + std::chrono::microseconds(1), [this, exchange, execute] {
                arrive<Reply>(exchange, execute);
            });
            return;
        }
        Reply reply = execute(now);
        if (lost())
            return;
        runtime_->call_at(now + delay(), [this, exchange, reply = std::move(reply)]() mutable {
            if (!exchange->handler)
                return;
            runtime_->cancel(exchange->limit);
            std::exchange(exchange->handler, nullptr)(std::move(reply));
        });
    }

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<NodeState> node_;
    std::string name_;
    Random random_;
    Instant cut_until_{};
    std::uint32_t loss_ = 0;
    /// requests of one connection arrive in order
    Instant next_arrival_{};
};

} // namespace tenure::simulation
