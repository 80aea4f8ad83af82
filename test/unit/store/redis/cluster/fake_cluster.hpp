// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "harness/renewals.hpp"
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_connection.hpp"

#include "store/redis/cluster/backend.hpp"
#include "store/redis/cluster/hash_slot.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;
using redis::ServerAddress;
using redis::resp::Type;
using redis::resp::Value;
using Words = std::vector<std::string>;

inline constexpr std::uint16_t first_port = 7001;

/** Three masters on ports 7001 to 7003, each with a third of the slots. */
struct FakeCluster : Immovable {
    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::map<std::uint16_t, FakeConnections> nodes;
    std::shared_ptr<Backend> backend;

    explicit FakeCluster(std::string const& version = "7.0.15", bool delay_after_failover = false)
    {
        redis::ClusterAccess access;
        access.name = "redis+cluster://fake";
        access.seeds = {{"fake", first_port}};
        access.delay_after_failover = delay_after_failover;
        access.connect = [this, version](ServerAddress const& address) {
            auto& made = nodes[address.port];
            made.runtime = runtime;
            made.info.version = version;
            made.info.mode = "cluster";
            made.info.run_id = run_id_of(address.port);
            return made.factory();
        };
        backend = redis::make_cluster_backend(runtime, std::move(access));
    }
    ~FakeCluster()
    {
        backend->shutdown();
        runtime->run_ready();
    }

    [[nodiscard]] static Value map_of_thirds()
    {
        std::vector<Value> shards;
        for (std::uint16_t i = 0; i < 3; ++i)
            shards.push_back(shard(16384 * i / 3, 16384 * (i + 1) / 3 - 1, static_cast<std::uint16_t>(first_port + i)));
        return Value::list(Type::array, std::move(shards));
    }
    [[nodiscard]] static Value shard(std::int64_t first, std::int64_t last, std::uint16_t port)
    {
        auto node = Value::list(
            Type::map, {Value::text("endpoint"), Value::text("fake"), Value::text("port"), Value::integer(port),
                        Value::text("role"), Value::text("master"), Value::text("health"), Value::text("online")});
        return Value::list(
            Type::map, {Value::text("slots"), Value::list(Type::array, {Value::integer(first), Value::integer(last)}),
                        Value::text("nodes"), Value::list(Type::array, {std::move(node)})});
    }
    [[nodiscard]] static std::uint16_t port_of(std::string const& key)
    {
        auto const slot = redis::hash_slot(key);
        return static_cast<std::uint16_t>(first_port + (slot >= 16384 * 2 / 3 ? 2 : slot >= 16384 / 3 ? 1 : 0));
    }
    [[nodiscard]] static std::string run_id_of(std::uint16_t port)
    {
        return std::string(36, 'a') + std::to_string(port);
    }
    [[nodiscard]] static std::string moved(std::string const& key, std::uint16_t port)
    {
        return "MOVED " + std::to_string(redis::hash_slot(key)) + " fake:" + std::to_string(port);
    }

    /** The first connection to a node. */
    [[nodiscard]] FakeConnection& node(std::uint16_t port) { return *nodes.at(port).made.at(0); }
    /** The connection for subscriptions to a node. */
    [[nodiscard]] FakeConnection& hints(std::uint16_t port)
    {
        for (auto const& connection : nodes.at(port).made)
            if (connection->purpose == "subscriptions")
                return *connection;
        throw std::runtime_error("nobody subscribes there");
    }
    [[nodiscard]] std::size_t unanswered(std::uint16_t port)
    {
        return nodes.contains(port) && !nodes.at(port).made.empty() ? node(port).unanswered() : 0;
    }
    /** The oldest command that a node was sent and did not answer. */
    [[nodiscard]] Words waiting_at(std::uint16_t port)
    {
        for (auto const& request : node(port).sent)
            if (request.open)
                return request.words;
        return {};
    }
    /** Answers each question for the map that is open. */
    void notify_map(Value const& map = map_of_thirds())
    {
        for (auto& [port, connections] : nodes)
            if (unanswered(port) > 0 && waiting_at(port).at(0) == "CLUSTER")
                node(port).answer(Value(map));
        runtime->run_ready();
    }
    std::size_t questions()
    {
        std::size_t count = 0;
        for (auto& [port, connections] : nodes)
            for (auto const& connection : connections.made)
                for (auto const& request : connection->sent)
                    count += request.words.at(0) == "CLUSTER" ? 1U : 0U;
        return count;
    }

    template <class Reply, class Request>
    std::shared_ptr<std::optional<Reply>> ask(void (Backend::*function)(Request, ReplyHandler<Reply>), Request request)
    {
        auto reply = std::make_shared<std::optional<Reply>>();
        (backend.get()->*function)(std::move(request), [reply](Reply answer) { *reply = std::move(answer); });
        CHECK_FALSE(reply->has_value());
        runtime->run_ready();
        return reply;
    }
    LaterRenewReply renew(RenewRequest request)
    {
        auto reply = renew_one(*backend, std::move(request));
        CHECK_FALSE(reply->has_value());
        runtime->run_ready();
        return reply;
    }
    std::shared_ptr<std::optional<ClaimReply>> claim(KeyRangePtr range, std::optional<Instant> earliest = {})
    {
        return ask(&Backend::claim, ClaimRequest{std::move(range), "me/1", 3s, runtime->now() + 10s, true, earliest});
    }
    /** The reply to a transaction of one claim: the SET's answer and the token. */
    static Value granted() { return Value::list(Type::array, {Value::status("OK"), Value::text("1700000000000000")}); }
    static Value held() { return Value::list(Type::array, {Value(), Value::text("1700000000000000")}); }
    static Value granted_by_script()
    {
        return Value::list(Type::array, {Value::integer(0), Value::text("1700000000000000")});
    }
    static Value surveyed()
    {
        return Value::list(Type::array, {Value::integer(-1), Value::integer(900), Value::integer(0)});
    }
    [[nodiscard]] static ClaimPtr claim_on(std::string const& key)
    {
        auto claim = std::make_shared<Claim>();
        claim->range = named_key(key);
        claim->owner = "me/1";
        return claim;
    }
    /** A claim of `key` granted by the node that the map names. */
    void connect(std::string const& key)
    {
        auto const reply = claim(named_key(key));
        notify_map();
        node(port_of(key)).answer(granted());
        runtime->run_ready();
        REQUIRE(*reply);
        REQUIRE(std::holds_alternative<Granted>(**reply));
    }
};

} // namespace tenure::test
