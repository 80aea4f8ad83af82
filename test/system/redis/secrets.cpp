// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Log lines of all levels and errors contain no secrets: passwords, URLs with passwords, and the random part of an
// owner.
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store.hpp"
#include "system/support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

constexpr auto password = "very-secret";
constexpr auto user =
    "user worker on >very-secret resetchannels -@all +eval +evalsha +get +mget +exists +set +del +pexpire "
    "+pttl +incr +time +multi +exec +lpos +rpush +lpush +lpop +lrem +lrange +llen +subscribe +unsubscribe +publish "
    "~thread_id_lock:* ~tenure:fence ~{thread_id_lock:*}:waiting ~{thread_id_lock:*}:watched &{thread_id_lock:*}:free";

/** The secret part of an owner. */
std::string random_part(std::string const& owner)
{
    auto const part = owner.substr(owner.rfind('/') + 1);
    CHECK(part.size() == 32);
    return part;
}

/** Everything that a user of this store can read. */
std::string all_words(RunningStore const& running)
{
    auto const diagnostics = running.store().diagnostics();
    return running.log() + diagnostics.last_detail + diagnostics.store + diagnostics.last_error.message() +
           running.store().describe();
}

void check_silence(RunningStore const& running, std::vector<std::string> const& secrets)
{
    auto const words = all_words(running);
    INFO(words);
    CHECK(words.find(password) == std::string::npos);
    CHECK(words.find("very%2Dsecret") == std::string::npos);
    for (auto const& secret : secrets)
        CHECK(words.find(secret) == std::string::npos);
}

std::string url_of(std::uint16_t port)
{
    return "redis://worker:very%2Dsecret@127.0.0.1:" + std::to_string(port);
}

} // namespace

TEST_CASE("a life of leases leaves no secret in log or errors, and nothing in the ACL log", "[integration]")
{
    require_redis();
    RedisServer server{{.config = {user, "user admin on >admin ~* &* +@all", "user default off"}}};
    auto admin = server.client();
    admin.call("AUTH", "admin", "admin");
    std::vector<std::string> secrets;
    RunningStore running{url_of(server.port())};
    auto const pool = running.pool(2, 600ms);
    auto first = RunningStore::acquire(pool);
    auto second = RunningStore::acquire(pool);
    secrets = {random_part(first.owner()), random_part(second.owner())};

    // busy, renewed, looked at, handed over
    CHECK(RunningStore::acquire_error(pool, {.wait = 200ms}) == errc::timed_out);
    auto const valid_until = first.valid_until();
    CHECK(eventually([&] { return first.valid_until() > valid_until; }));
    auto const seen = soon(running.store().async_inspect(pool.range(), asio::use_future));
    CHECK(seen.at(0).owner == first.owner());
    auto waiting = pool.async_acquire(as_future);
    REQUIRE(eventually([&] { return running.store().statistics().waiting == 1; }));
    CHECK(RunningStore::release(first) == ReleaseOutcome::released);
    auto [error, third] = soon(std::move(waiting));
    REQUIRE_FALSE(error);
    secrets.push_back(random_part(third.owner()));
    CHECK(admin.call("ACL", "LOG").elements.empty());

    // taken away in each way there is; none of this may be asked by that user, and what is refused is not its secret
    FiredAt lost{second.token()};
    admin.call("SET", second.key(), "somebody else's", "PX", 60000);
    CHECK(lost.wait(10s));
    CHECK(RunningStore::release(second) == ReleaseOutcome::was_lost);
    FiredAt evicted{third.token()};
    static_cast<void>(soon(running.store().async_evict(
        {.range = pool.range(), .index = third.id(), .owner = third.owner()}, "me", as_future)));
    CHECK(evicted.wait(10s));
    CHECK(std::get<0>(soon(running.store().async_evict(seen.at(0), "me", as_future))));
    static_cast<void>(soon(running.store().async_examine(600ms, asio::use_future)));
    CHECK(RunningStore::acquire_error(running.lock("elsewhere", 5s)) == errc::permission_denied);
    CHECK_FALSE(running.log().empty());
    check_silence(running, secrets);

    RunningStore wrong{"redis://worker:very%2Dsecret-wrong@127.0.0.1:" + std::to_string(server.port())};
    CHECK(RunningStore::acquire_error(wrong.pool(1, 5s)) == errc::authentication_failed);
    check_silence(wrong, {});
    server.kill();
    RunningStore away{url_of(server.port())};
    CHECK(RunningStore::acquire_error(away.pool(1, 5s), {.wait = 300ms}) == errc::store_unavailable);
    check_silence(away, {});
}

TEST_CASE("a server without the commands that leases need does not tell their arguments to the log", "[integration]")
{
    require_redis();
    // it answers with the arguments of what it does not know, and the owner is one of them
    RedisServer server{{.config = {"rename-command EVALSHA \"\"", "rename-command EVAL \"\""}}};
    RunningStore running{server.url()};
    CHECK(RunningStore::acquire_error(running.lock("k", 5s)) == errc::wrong_server);
    auto const words = all_words(running);
    CHECK_THAT(words, ContainsSubstring("unknown command"));
    CHECK(words.find(running.store().worker_name() + "/") == std::string::npos);
}

TEST_CASE("a server that echoes requests does not leak them into log or errors", "[integration]")
{
    ScriptedServer server;
    server.behave([](Words const& request, std::string const& good) {
        std::string said = "-ODD I was sent";
        for (auto const& word : request)
            said += " " + word;
        return Answer{purpose_of(request) == Purpose::login ? good : said + "\r\n"};
    });
    RunningStore running{url_of(server.port())};
    CHECK(RunningStore::acquire_error(running.lock("wanted", 5s), {.wait = 300ms}) == errc::store_refused);
    CHECK_THAT(running.store().diagnostics().last_detail, ContainsSubstring("/***"));
    // the owner was sent: <worker>/<32 hexadecimal digits>
    auto const received = server.received();
    auto const owner = received.find(running.store().worker_name() + "/");
    REQUIRE(owner != std::string::npos);
    check_silence(running, {received.substr(owner + running.store().worker_name().size() + 1, 32)});

    server.behave([](Words const& request, std::string const&) {
        std::string said = "-ERR unknown command '" + request.at(0) + "', with args beginning with:";
        for (auto const& word : request)
            said += " '" + word + "'";
        return Answer{said + "\r\n"};
    });
    RunningStore refused{url_of(server.port())};
    CHECK(RunningStore::acquire_error(refused.lock("wanted", 5s), {.wait = 300ms}));
    check_silence(refused, {});
}
