// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure status`, `list`, `doctor` and `evict` on a real server.
#include "system/support/tool_process.hpp"

#include "harness/paths.hpp"
#include "harness/redis_server.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

/** A command that holds slot 0 of the pool job:0..1 as worker w1. */
ToolProcess holder(RedisServer const& server)
{
    return ToolProcess(
        {"run", "--pool", "job:", "--size", "2", "--ttl", "3s", "--worker", "w1", "--", "sh", "-c",
         "echo ready; exec sleep 600"},
        server.url());
}

boost::json::object json_of(ToolProcess& tool, int expected_code)
{
    CHECK(tool.exit_code() == expected_code);
    return boost::json::parse(tool.output()).as_object();
}

} // namespace

TEST_CASE("status names the holder and never its secret", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    auto const held = holder(server);
    REQUIRE(held.says("ready"));
    static_cast<void>(redis.call("SET", "job:1", "123e4567-e89b-12d3-a456-426614174000-77", "PX", 600'000));
    auto const owner = redis.get("job:0").value();
    auto const secret = owner.substr(owner.rfind('/') + 1);
    REQUIRE(secret.size() == 32);

    ToolProcess table({"status", "--pool", "job:", "--size", "2"}, server.url());
    CHECK(table.exit_code() == 0);
    CHECK_THAT(table.output(), ContainsSubstring("w1") && ContainsSubstring("(other software)"));
    CHECK_THAT(table.output(), ContainsSubstring("2 of 2 held"));
    CHECK_THAT(table.output(), !ContainsSubstring(secret) && !ContainsSubstring("426614174000"));

    ToolProcess json({"status", "--pool", "job:", "--size", "2", "--json"}, server.url());
    auto const object = json_of(json, 0);
    CHECK_THAT(json.output(), !ContainsSubstring(secret) && !ContainsSubstring("426614174000"));
    auto const& keys = object.at("keys").as_array();
    REQUIRE(keys.size() == 2);
    CHECK(keys[0].at("worker").as_string() == "w1");
    CHECK(keys[0].at("remaining_ms").as_int64() <= 3'000);
    CHECK(keys[0].at("held_for_ms").as_int64() >= 0);
    CHECK(keys[1].at("state").as_string() == "held");
}

TEST_CASE("a watched status is shown again and again, until it is interrupted", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess tool({"status", "--lock", "job", "--watch"}, server.url());
    REQUIRE(tool.says("0 of 1 held"));
    static_cast<void>(redis.call("SET", "job", "x", "PX", 600'000));
    REQUIRE(tool.says("1 of 1 held"));
    tool.process().signal(SIGINT);
    CHECK(tool.exit_code() == 0);
}

TEST_CASE("status says so when the store cannot be reached", "[integration][tool]")
{
    ToolProcess tool({"status", "--size", "2"}, "redis://127.0.0.1:" + std::to_string(free_port()));
    CHECK(tool.exit_code() == 69);
    CHECK_THAT(tool.output(), ContainsSubstring("error"));
}

TEST_CASE("an evicted holder is ended, and the slot is free when its ttl has passed", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    auto held = holder(server);
    REQUIRE(held.says("ready"));
    ToolProcess evict(
        {"evict", "--pool", "job:", "--size", "2", "--slot", "0", "--yes", "--worker", "admin"}, server.url());
    CHECK(evict.exit_code() == 0);
    CHECK_THAT(evict.output(), ContainsSubstring("job:0 is held by w1") && ContainsSubstring("becomes free in"));
    CHECK(redis.get("job:0") == "evicted/admin");
    CHECK(redis.pttl("job:0") <= 3'000);
    CHECK(held.exit_code() == 79);
    CHECK_THAT(held.output(), ContainsSubstring("job:0 was evicted by admin"));
    CHECK(redis.get("job:0").value_or("evicted/admin") == "evicted/admin");

    ToolProcess again({"evict", "--pool", "job:", "--size", "2", "--slot", "0", "--yes"}, server.url());
    CHECK(again.exit_code() == 1);
    CHECK(eventually([&] { return !redis.get("job:0").has_value(); }));
}

TEST_CASE("a key that its holder left to expire is shown with its end, and evict frees it", "[integration][tool]")
{
    require_redis();
    RedisServer const server;
    auto redis = server.client();
    auto const kept = "kept/w1/" + std::string(32, '7');
    redis.call("SET", "job:0", kept, "PX", 30'000);
    ToolProcess status({"status", "--pool", "job:", "--size", "2"}, server.url());
    CHECK(status.exit_code() == 0);
    CHECK_THAT(
        status.output(), ContainsSubstring("0 of 2 held, 1 kept") && ContainsSubstring("kept until ") &&
                             ContainsSubstring(", last held by w1"));
    CHECK_THAT(status.output(), !ContainsSubstring(std::string(8, '7')));
    ToolProcess evict({"evict", "--pool", "job:", "--size", "2", "--slot", "0", "--yes"}, server.url());
    CHECK(evict.exit_code() == 0);
    CHECK_THAT(
        evict.output(), ContainsSubstring("job:0 has no holder: it was left to expire by w1, and becomes free in 29") &&
                            ContainsSubstring("freed: job:0 can be acquired now"));
    CHECK_FALSE(redis.get("job:0").has_value());
}

TEST_CASE("evict ends a quarantine, and asks first", "[integration][tool]")
{
    require_redis();
    RedisServer const server;
    auto redis = server.client();
    auto const resting = "resting/w1/" + std::string(32, '7');
    redis.call("SET", "job:1", resting, "PX", 30'000);
    ToolProcess unasked({"evict", "--pool", "job:", "--size", "2", "--slot", "1"}, server.url());
    CHECK(unasked.exit_code() == 64);
    CHECK_THAT(unasked.output(), ContainsSubstring("job:1 has no holder: it was released by w1, and is in quarantine"));
    CHECK(redis.get("job:1") == resting);
    ToolProcess evict({"evict", "--pool", "job:", "--size", "2", "--slot", "1", "--yes"}, server.url());
    CHECK(evict.exit_code() == 0);
    CHECK_FALSE(redis.get("job:1").has_value());
}

TEST_CASE("a window is run again after its lock was evicted", "[integration][tool]")
{
    require_redis();
    RedisServer const server;
    std::vector<std::string> const run = {"run", "--window", "50m", "--lock", "report", "echo", "works"};
    ToolProcess first(run, server.url());
    CHECK(first.exit_code() == 0);
    ToolProcess second(run, server.url());
    CHECK(second.exit_code() == 80);
    ToolProcess evict({"evict", "--lock", "report", "--yes"}, server.url());
    CHECK(evict.exit_code() == 0);
    ToolProcess third(run, server.url());
    CHECK(third.exit_code() == 0);
    CHECK_THAT(third.output(), ContainsSubstring("works"));
}

TEST_CASE("a listing has all leases of a store, and no key of another program", "[integration][tool]")
{
    require_redis();
    RedisServer const server;
    auto redis = server.client();
    auto const secret = std::string(32, '7');
    redis.call("SET", "job:10", "w1/" + secret, "PX", 30'000);
    redis.call("SET", "job:2", "w2/" + secret, "PX", 30'000);
    redis.call("SET", "report", "kept/w3/" + secret, "PX", 30'000);
    redis.call("SET", "job:cache", "a value", "PX", 30'000);
    redis.call("SET", "counter", "17");
    redis.call("SET", "not{a}{key\nof tenure", "17");
    redis.call("HSET", "table", "field", "1");
    ToolProcess all({"list"}, server.url());
    CHECK(all.exit_code() == 0);
    CHECK_THAT(all.output(), ContainsSubstring("leases on " + server.url() + "/0: 2 of 3 held, 1 kept\n"));
    CHECK(all.output().find("\njob:2 ") < all.output().find("\njob:10 "));
    CHECK_THAT(all.output(), ContainsSubstring("last held by w3") && ContainsSubstring("looked at 7 keys\n"));
    CHECK_THAT(
        all.output(), !ContainsSubstring("cache") && !ContainsSubstring("counter") && !ContainsSubstring("table") &&
                          !ContainsSubstring(secret));
    ToolProcess some({"list", "--prefix", "job:", "--limit", "2"}, server.url());
    CHECK(some.exit_code() == 0);
    CHECK_THAT(
        some.output(), !ContainsSubstring("report") &&
                           ContainsSubstring("looked at 2 keys that begin with job:; there are more: name a longer"));
    ToolProcess none({"list", "--prefix", "[j"}, server.url());
    CHECK(none.exit_code() == 0);
    CHECK_THAT(none.output(), ContainsSubstring("no leases on ") && ContainsSubstring("looked at 0 keys"));
    ToolProcess json({"list", "--prefix", "job:", "--json"}, server.url());
    auto const object = json_of(json, 0);
    CHECK(object.at("keys_read").as_int64() == 3);
    CHECK_FALSE(object.at("more").as_bool());
    CHECK(object.at("keys").as_array().size() == 2);
    CHECK(object.at("keys").as_array().at(0).at("key").as_string() == "job:2");
}

TEST_CASE("a store that cannot be reached is named once, with the cause first", "[integration][tool]")
{
    auto const url = "redis://127.0.0.1:" + std::to_string(free_port());
    for (auto const& words : std::vector<std::vector<std::string>>{
             {"status", "--lock", "job"},
             {"list"},
             {"evict", "--lock", "job", "--yes"},
             {"run", "--lock", "job", "--wait", "0", "true"},
             {"demo", "--store", url}}) {
        CAPTURE(words.front());
        ToolProcess tool(words, url);
        CHECK(tool.exit_code() == 69);
        auto const output = tool.output();
        CHECK_THAT(output, ContainsSubstring(url + "/0: cannot connect to 127.0.0.1 port "));
        CHECK_THAT(output, ContainsSubstring("Connection refused: check that it runs and can be reached\n"));
        CHECK(std::ranges::count(output, '\n') == 1);
        CHECK_THAT(output, !ContainsSubstring("trying again"));
    }
}

TEST_CASE("evict changes no free key, no foreign key, and no key without a confirmation", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess free({"evict", "--lock", "job", "--yes"}, server.url());
    CHECK(free.exit_code() == 1);
    CHECK_THAT(free.output(), ContainsSubstring("job is free"));
    static_cast<void>(redis.call("SET", "job", "for ever"));
    ToolProcess foreign({"evict", "--lock", "job", "--yes"}, server.url());
    CHECK(foreign.exit_code() == 1);
    CHECK(redis.get("job") == "for ever");
    static_cast<void>(redis.call("DEL", "job"));
    static_cast<void>(redis.call("HSET", "job", "6b1c-client:1", 1));
    static_cast<void>(redis.call("PEXPIRE", "job", 600'000));
    ToolProcess hash({"evict", "--lock", "job", "--yes"}, server.url());
    CHECK(hash.exit_code() == 1);
    CHECK_THAT(
        hash.output(),
        ContainsSubstring("job is held by another program") && ContainsSubstring("becomes free in 9 min"));
    CHECK(redis.call("TYPE", "job").text == "hash");
    ToolProcess status({"status", "--lock", "job"}, server.url());
    CHECK(status.exit_code() == 0);
    CHECK_THAT(status.output(), ContainsSubstring("(other software)") && ContainsSubstring("9 min 5"));
    static_cast<void>(redis.call("SET", "job", "for now", "PX", 600'000));
    ToolProcess unasked({"evict", "--lock", "job"}, server.url());
    CHECK(unasked.exit_code() == 64);
    CHECK(redis.get("job") == "for now");
    ToolProcess no_slot({"evict", "--size", "2", "--slot", "2", "--yes"}, server.url());
    CHECK(no_slot.exit_code() == 64);
}

TEST_CASE("evict says of a long value that another program wrote it", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    auto const value = std::string(2'000, 'x');
    static_cast<void>(redis.call("SET", "job", value, "PX", 600'000));
    ToolProcess evict({"evict", "--lock", "job", "--yes"}, server.url());
    CHECK(evict.exit_code() == 1);
    CHECK_THAT(
        evict.output(),
        ContainsSubstring("job: its value is too long for a lease") && !ContainsSubstring("another holder"));
    CHECK(redis.get("job") == value);
}

TEST_CASE("doctor warns of an evicting server, with advice", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    ToolProcess before({"doctor", "--json"}, server.url());
    auto const first = json_of(before, before.exit_code());
    CHECK(first.at("errors").as_int64() == 0);
    static_cast<void>(redis.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"));
    static_cast<void>(redis.call("CONFIG", "SET", "maxmemory", "100mb"));
    ToolProcess after({"doctor"}, server.url());
    CHECK(after.exit_code() >= 1);
    CHECK_THAT(after.output(), ContainsSubstring("allkeys-lru"));
}

TEST_CASE("doctor calls a store that cannot be reached an error", "[integration][tool]")
{
    ToolProcess tool({"doctor"}, "redis://127.0.0.1:" + std::to_string(free_port()));
    CHECK(tool.exit_code() == 2);
}
