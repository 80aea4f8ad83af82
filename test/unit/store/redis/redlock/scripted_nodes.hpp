// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "unit/fake_runtime.hpp"

#include <tenure/backend/renew_each.hpp>
#include <tenure/errc.hpp>

#include <store/redis/backend.hpp>
#include <store/redis/redlock/backend.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

/** One of several servers, which answers when, and what, the test says. */
class ScriptedNode final : public redis::VoterBackend
{
public:
    template <class Request, class Reply>
    using Asked = std::deque<std::pair<Request, ReplyHandler<Reply>>>;

    explicit ScriptedNode(std::string name)
        : name_(std::move(name))
    {
    }

    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        claims.emplace_back(std::move(request), std::move(handler));
    }
    void claim_vote(ClaimRequest request, ReplyHandler<ClaimReply> handler) override
    {
        claim(std::move(request), std::move(handler));
    }
    void renew(std::vector<RenewRequest> requests, RenewHandler handler) override
    {
        ++renew_calls;
        renew_each(std::move(requests), std::move(handler), [this](RenewRequest request, auto reply_to) {
            renewals.emplace_back(std::move(request), std::move(reply_to));
        });
    }
    void release(ReleaseRequest request, ReplyHandler<ReleaseReply> handler) override
    {
        releases.emplace_back(std::move(request), std::move(handler));
    }
    void withdraw(WithdrawRequest request, ReplyHandler<WithdrawReply> handler) override
    {
        withdrawals.emplace_back(std::move(request), std::move(handler));
    }
    void ready(Deadline not_after, ReplyHandler<ReadyReply> handler) override
    {
        readies.emplace_back(std::move(not_after), std::move(handler));
    }
    void inspect(InspectRequest request, ReplyHandler<InspectReply> handler) override
    {
        looks.emplace_back(std::move(request.range), std::move(handler));
    }
    void accept_token(redis::TokenRequest request, ReplyHandler<redis::TokenReply> handler) override
    {
        tokens.emplace_back(std::move(request), std::move(handler));
    }
    void evict(EvictRequest request, ReplyHandler<EvictReply> handler) override
    {
        evictions.emplace_back(std::move(request), std::move(handler));
    }
    std::unique_ptr<Watch> watch(KeyRangePtr, WatchAs, WatchHandler handler) override
    {
        watch_handler = std::move(handler);
        return std::make_unique<Watch>();
    }
    void examine(std::chrono::milliseconds, Deadline, ReplyHandler<Findings> handler) override
    {
        std::move(handler)(Findings{{Finding::Severity::ok, "clock", "in step", ""}});
    }
    void on_reachable(std::function<void()>) override {}
    void shortest_ttl(std::chrono::milliseconds) override {}
    [[nodiscard]] std::string describe() const override { return name_; }
    void shutdown() noexcept override {}

    /** Lets go of all that was not answered: it may own this node. */
    void forget() noexcept
    {
        std::exchange(claims, {}).clear();
        std::exchange(renewals, {}).clear();
        std::exchange(releases, {}).clear();
        std::exchange(withdrawals, {}).clear();
        std::exchange(readies, {}).clear();
        std::exchange(looks, {}).clear();
        std::exchange(tokens, {}).clear();
        std::exchange(evictions, {}).clear();
        watch_handler = nullptr;
    }

    /** Answers the oldest question of a kind. */
    template <class Request, class Reply, class Answer>
    static Request answer(Asked<Request, Reply>& asked, Answer reply)
    {
        auto [request, handler] = std::move(asked.front());
        asked.pop_front();
        std::move(handler)(Reply(std::move(reply)));
        return std::move(request);
    }

    Asked<ClaimRequest, ClaimReply> claims;
    Asked<RenewRequest, RenewReply> renewals;
    int renew_calls = 0;
    Asked<ReleaseRequest, ReleaseReply> releases;
    Asked<WithdrawRequest, WithdrawReply> withdrawals;
    Asked<Deadline, ReadyReply> readies;
    Asked<KeyRangePtr, InspectReply> looks;
    Asked<redis::TokenRequest, redis::TokenReply> tokens;
    Asked<EvictRequest, EvictReply> evictions;
    WatchHandler watch_handler;

private:
    std::string name_;
};

/** The failure of a request to a server that refuses connections. */
[[nodiscard]] inline Failure unreachable()
{
    return Failure::not_sent(make_error_code(errc::store_unavailable), "connection refused");
}

/** Redlock over scripted servers: a, b, c ... */
struct ScriptedQuorum : Immovable {
    explicit ScriptedQuorum(std::size_t count = 3)
    {
        std::vector<redlock::Quorum::Voter> all;
        for (std::size_t i = 0; i < count; ++i) {
            nodes.push_back(
                std::make_shared<ScriptedNode>("redis://" + std::string(1, static_cast<char>('a' + i)) + ":6379/0"));
            all.push_back(nodes.back());
        }
        backend = redlock::make_backend(runtime, std::move(all));
    }

    ~ScriptedQuorum()
    {
        for (auto const& node : nodes)
            node->forget();
        runtime->discard();
    }

    [[nodiscard]] ScriptedNode& operator[](std::size_t index) { return *nodes[index]; }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::vector<std::shared_ptr<ScriptedNode>> nodes;
    std::shared_ptr<Backend> backend;
};

} // namespace tenure::test
