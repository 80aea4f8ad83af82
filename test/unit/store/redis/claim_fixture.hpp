// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_connection.hpp"

#include "store/redis/claim/claim.hpp"

#include <tenure/errc.hpp>
#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;
using redis::resp::Type;
using redis::resp::Value;
using Words = std::vector<std::string>;

/** Claims on a server that is the test. */
class ClaimFixture : Immovable
{
public:
    using ReplyPtr = std::shared_ptr<std::optional<ClaimReply>>;

    explicit ClaimFixture(bool delay_after_failover = false)
        : node(std::make_shared<redis::ServerContext>(
              runtime, link,
              redis::ServerSettings{"redis://fake:6379/0", "0123456789abcdef0123456789abcdef", delay_after_failover}))
        , claims(std::make_shared<redis::Claims>(node))
    {
        connections.info.run_id = std::string(redis::resp::Command::run_id_size, 'a');
    }
    ~ClaimFixture()
    {
        link->close();
        runtime->run_ready();
    }

    [[nodiscard]] ClaimRequest request_for(KeyRangePtr range, std::string owner = "me/1") const
    {
        return {std::move(range), std::move(owner), 3s, runtime->now() + 10s, true, std::nullopt};
    }
    ReplyPtr claim(ClaimRequest request)
    {
        auto reply = std::make_shared<std::optional<ClaimReply>>();
        claims->add(std::move(request), [reply](ClaimReply answer) {
            CHECK_FALSE(reply->has_value());
            *reply = std::move(answer);
        });
        CHECK_FALSE(reply->has_value());
        return reply;
    }
    ReplyPtr claim(std::string key) { return claim(request_for(named_key(std::move(key)))); }

    /** Connected, by a claim that was granted and is forgotten. */
    void connect()
    {
        auto const reply = claim("first");
        runtime->run_ready();
        answer(executed({Value::status("OK")}));
        REQUIRE(std::holds_alternative<Granted>(reply->value()));
        connection().sent.clear();
    }

    /** Keeps a first call under way, so that what follows in this turn joins. */
    ReplyPtr occupy()
    {
        auto reply = claim("under way");
        runtime->run_ready();
        REQUIRE(connection().unanswered() == 1);
        return reply;
    }

    /** Claims that left in one transaction, which is not answered yet. */
    template <class... Keys>
    std::array<ReplyPtr, sizeof...(Keys)> claim_together(Keys const&... keys)
    {
        (void)occupy();
        std::array replies{claim(keys)...};
        runtime->run_ready();
        answer(executed({Value::status("OK")}));
        return replies;
    }

    [[nodiscard]] FakeConnection& connection() { return *connections.made.front(); }
    [[nodiscard]] Words words(std::size_t index) { return connection().sent.at(index).words; }
    void answer(Value reply, bool ran_apart = false)
    {
        connection().answer(std::move(reply), ran_apart);
        runtime->run_ready();
    }
    /** EXEC's array: the answers to each SET, and the token or what came in its place. */
    [[nodiscard]] static Value executed(std::vector<Value> replies, Value drawn = Value::text("1700000000000000"))
    {
        replies.push_back(std::move(drawn));
        return Value::list(Type::array, std::move(replies));
    }
    /** The answer of a script that found the key held. */
    [[nodiscard]] static Value held_for_700ms()
    {
        return array({Value::integer(-1), Value::integer(700), Value::integer(0)});
    }
    [[nodiscard]] static Value array(std::vector<Value> elements)
    {
        return Value::list(Type::array, std::move(elements));
    }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    FakeConnections connections{runtime, {}};
    std::shared_ptr<redis::HedgedLink> link = std::make_shared<redis::HedgedLink>(runtime, connections.factory());
    redis::ServerPtr node;
    std::shared_ptr<redis::Claims> claims;
};

/** Claims over a connection that has logged in. */
struct ConnectedClaims : ClaimFixture {
    ConnectedClaims() { connect(); }
};

} // namespace tenure::test
