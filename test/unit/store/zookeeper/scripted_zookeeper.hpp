// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "unit/store/zookeeper/scripted_server.hpp"

#include "store/zookeeper/operations.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

/** The store on a scripted server, in virtual time. */
struct ScriptedZookeeper : Immovable {
    using Config = std::function<void(ZookeeperConfig&)>;

    static constexpr std::chrono::milliseconds ttl{12'000};

    explicit ScriptedZookeeper(Config const& change = [](ZookeeperConfig&) {})
    {
        ZookeeperConfig config;
        config.servers = {{"127.0.0.1", 2181}};
        config.tick = std::chrono::milliseconds{200};
        config.longest_ttl = std::chrono::seconds{60};
        change(config);
        backend = zookeeper::make_backend_over(server.links(), runtime, config);
    }
    ~ScriptedZookeeper()
    {
        backend->shutdown();
        runtime->run_ready();
        runtime->discard();
        runtime->end_context();
    }

    using ClaimAnswer = std::shared_ptr<std::optional<ClaimReply>>;
    using RenewAnswerOf = std::shared_ptr<std::optional<RenewReply>>;

    [[nodiscard]] ClaimAnswer claim(
        std::string const& key, std::string const& owner, std::optional<Instant> earliest = std::nullopt,
        Clock::duration wait = std::chrono::seconds{100}) const
    {
        auto answer = std::make_shared<std::optional<ClaimReply>>();
        ClaimRequest request{named_key(key), owner, ttl, runtime->now() + wait, true, earliest};
        backend->claim(std::move(request), [answer](ClaimReply&& reply) { *answer = std::move(reply); });
        return answer;
    }
    [[nodiscard]] static ClaimPtr claim_of(std::string const& key, std::string const& owner, ClaimReply const& reply)
    {
        auto const& granted = std::get<Granted>(reply);
        auto claim = std::make_shared<Claim>();
        claim->range = named_key(key);
        claim->owner = owner;
        claim->fencing_token = granted.fencing_token;
        claim->handle = granted.handle;
        return claim;
    }
    [[nodiscard]] ClaimPtr take(std::string const& key, std::string const& owner)
    {
        auto const answer = claim(key, owner);
        run_until([&] { return answer->has_value(); });
        return claim_of(key, owner, **answer);
    }
    [[nodiscard]] RenewAnswerOf renew(ClaimPtr const& claim) const
    {
        auto answer = std::make_shared<std::optional<RenewReply>>();
        backend->renew(
            {{claim, ttl, runtime->now() + std::chrono::seconds{6}}},
            [answer](std::span<RenewAnswer> replies) { *answer = std::move(replies.front().reply); });
        return answer;
    }
    /** Renews it, and waits for the answer. */
    [[nodiscard]] RenewReply renewed(ClaimPtr const& claim)
    {
        auto const answer = renew(claim);
        run_until([&] { return answer->has_value(); });
        return **answer;
    }
    [[nodiscard]] ReleaseReply release(ClaimPtr const& claim)
    {
        auto const answer = std::make_shared<std::optional<ReleaseReply>>();
        backend->release({claim, runtime->now() + std::chrono::seconds{10}, true}, [answer](ReleaseReply&& reply) {
            *answer = std::move(reply);
        });
        run_until([&] { return answer->has_value(); });
        return **answer;
    }
    template <class Condition>
    void run_until(Condition condition)
    {
        if (!runtime->run_while_not(std::move(condition), std::chrono::minutes{2}))
            throw std::runtime_error("it did not happen within two minutes");
    }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    ScriptedServer server{runtime};
    std::shared_ptr<Backend> backend;
};

} // namespace tenure::test
