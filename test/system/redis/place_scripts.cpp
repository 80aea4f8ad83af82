// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The scripts of places on a real server, beside a model of their rule.
#include "harness/redis_server.hpp"
#include "simulation/places/trial.hpp"
#include "store/redis/shares/scripts.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure;
using namespace tenure::test;
using redis::resp::Value;
using simulation::Words;

namespace
{

Value value_of(Reply const& reply)
{
    switch (reply.kind) {
    case Reply::Kind::null:
        return {};
    case Reply::Kind::status:
        return Value::status(reply.text);
    case Reply::Kind::error:
        return Value::error(reply.text);
    case Reply::Kind::integer:
        return Value::integer(reply.integer);
    case Reply::Kind::string:
        return Value::text(reply.text);
    case Reply::Kind::array:
        break;
    }
    std::vector<Value> elements;
    for (auto const& element : reply.elements)
        elements.push_back(value_of(element));
    return Value::list(redis::resp::Type::array, std::move(elements));
}

/** A server whose scripts read the clock from a key, which the trial sets. */
class RealServer final : public simulation::PlaceServer
{
public:
    explicit RealServer(RedisServer const& server)
        : client_(server.client())
        , listener_(server.client())
    {
        listener_.call("SUBSCRIBE", "{k}:free");
    }

    Value run(redis::Script const& script, Words keys, Words values) override
    {
        auto [sha, is_new] = loaded_.try_emplace(script.sha);
        if (is_new) {
            auto text = script.text;
            std::string_view const clock = "redis.call('TIME')";
            for (auto at = text.find(clock); at != std::string::npos; at = text.find(clock))
                text.replace(
                    at, clock.size(),
                    "(function(ms) return {math.floor(ms / 1000), ms % 1000 * 1000} "
                    "end)(redis.call('GET', 'clock'))");
            sha->second = client_.call("SCRIPT", "LOAD", text).text;
        }
        Words words{"EVALSHA", sha->second, std::to_string(keys.size())};
        words.insert(words.end(), keys.begin(), keys.end());
        words.insert(words.end(), values.begin(), values.end());
        return value_of(client_.send(words));
    }
    Value command(Words words) override { return value_of(client_.send(words)); }
    void set_clock(std::int64_t milliseconds) override { client_.call("SET", "clock", milliseconds); }
    Words told() override
    {
        client_.call("PUBLISH", "{k}:free", "that is all");
        Words messages;
        for (;;) {
            auto const push = listener_.receive(5s);
            REQUIRE(push);
            if (push->elements.at(2).text == "that is all")
                return messages;
            messages.push_back(push->elements.at(2).text);
        }
    }

private:
    RedisClient client_;
    RedisClient listener_;
    std::map<std::string, std::string> loaded_;
};

} // namespace

TEST_CASE("the scripts of places do on a real server as the rule says", "[redis][shares]")
{
    require_redis();
    RedisServer const server;
    RealServer real(server);
    for (std::uint64_t seed = 1001; seed <= 1009; ++seed) {
        INFO(seed);
        CHECK(try_places(real, seed, 400).violation == "");
        CHECK(try_clock_set_back(real, seed, 200).violation == "");
        CHECK(try_deleted_fields(real, seed, 200).violation == "");
    }
}
