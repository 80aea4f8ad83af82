// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Servers that refuse: the user gets the right error, and a message that names cause and remedy.
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store_test.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

std::string with_login(RedisServer const& server, std::string const& login, std::string const& path = "")
{
    return "redis://" + login + "@127.0.0.1:" + std::to_string(server.port()) + path;
}

/** The message of the last error. */
std::string words(RunningStore const& running)
{
    return running.store().diagnostics().last_detail;
}

/** An acquisition fails fast with `expected`, which a person has to repair; returns what it says. */
std::string fails_for_good(std::string const& url, errc expected, std::string const& prefix = "thread_id_lock:")
{
    RunningStore running{url};
    SlotPool const pool{running.store(), {.prefix = prefix, .size = 3, .ttl = 5s}};
    auto const begin = std::chrono::steady_clock::now();
    auto const error = RunningStore::acquire_error(pool, {.wait = 15s});
    auto const text = words(running);
    WARN(error.message() << " | " << text);
    CHECK(error == expected);
    CHECK(error == condition::misconfigured);
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK(running.store().diagnostics().last_error == expected);
    CHECK_FALSE(text.empty());
    CHECK(text.find("very-secret") == std::string::npos);
    CHECK(running.log().find("very-secret") == std::string::npos);
    CHECK(running.store().describe().find("very-secret") == std::string::npos);
    return text;
}

/** An acquisition that waits for 800 ms ends with an error that may pass; returns what it says. */
template <class Lockable>
std::string fails_for_now(RunningStore& running, Lockable const& lockable)
{
    auto const error = RunningStore::acquire_error(lockable, {.wait = 800ms});
    auto const text = words(running);
    WARN(error.message() << " | " << text);
    CHECK(error == errc::store_refused);
    CHECK(error == condition::try_later);
    return text;
}

/// the documented permissions, without those for channels
constexpr char const* documented_user =
    "user worker on >right resetchannels -@all +eval +evalsha +get +mget +exists +set +del +pexpire "
    "+pttl +incr +time +multi +exec +lpos +rpush +lpush +lpop +lrem +lrange +llen ~thread_id_lock:* "
    "~tenure:fence ~{thread_id_lock:*}:waiting ~{thread_id_lock:*}:watched";

} // namespace

TEST_CASE("a wrong password is reported, and no request runs as another user", "[integration]")
{
    require_redis();
    // the default user has all permissions: a client that continued after a refused login would act as this user
    RedisServer server{{.config = {"user worker on >right ~* &* +@all"}}};
    CHECK_THAT(
        fails_for_good(with_login(server, "worker:very-secret"), errc::authentication_failed),
        ContainsSubstring("password"));
    CHECK(server.client().keys("*").empty());
    CHECK(server.client().info("cmdstat_evalsha").empty());
    CHECK(server.client().info("cmdstat_eval").empty());

    RedisServer locked{{.config = {"requirepass very-secret-indeed"}}};
    fails_for_good(locked.url(), errc::authentication_failed);
    fails_for_good(with_login(locked, ":very-secret"), errc::authentication_failed);
}

TEST_CASE_METHOD(RedisTest, "a missing database is reported, and no request reaches another one", "[integration]")
{
    CHECK_THAT(fails_for_good(server.url() + "/99", errc::wrong_database), ContainsSubstring("99"));
    CHECK(server.client().keys("*").empty());
}

TEST_CASE("a login and a database that exist are used", "[integration]")
{
    require_redis();
    RedisServer server{{.config = {"user worker on >right ~* &* +@all", "user default off"}}};
    RunningStore running{with_login(server, "worker:right", "/5")};
    auto slot = RunningStore::acquire(running.pool(3, 5s));
    auto redis = server.client();
    redis.call("AUTH", "worker", "right");
    CHECK_FALSE(redis.get("thread_id_lock:0"));
    redis.call("SELECT", 5);
    CHECK(redis.get("thread_id_lock:0") == slot.owner());
    RunningStore::release(slot);
    CHECK_FALSE(redis.get("thread_id_lock:0"));
}

TEST_CASE("a missing permission is reported by name", "[integration]")
{
    require_redis();
    RedisServer server{
        {.config = {
             "user nocommand on >very-secret resetchannels ~thread_id_lock:* ~tenure:fence ~{thread_id_lock:*}:waiting "
             "~{thread_id_lock:*}:watched -@all +set",
             "user nokey on >very-secret resetchannels ~other:* +@all",
             "user nofence on >very-secret resetchannels ~thread_id_lock:* +@all"}}};
    auto const command = fails_for_good(with_login(server, "nocommand:very-secret"), errc::permission_denied);
    CHECK_THAT(command, ContainsSubstring("eval"));
    fails_for_good(with_login(server, "nokey:very-secret"), errc::permission_denied);
    auto const fence = fails_for_good(with_login(server, "nofence:very-secret"), errc::permission_denied);
    CHECK_THAT(fence, ContainsSubstring("fence"));
    // the server refused before the first write
    CHECK(server.client().keys("thread_id_lock:*").empty());
}

TEST_CASE("the documented minimal permissions are enough, and nothing is refused", "[integration]")
{
    require_redis();
    RedisServer server{{.config = {documented_user}}};
    RunningStore running{with_login(server, "worker:right")};
    auto const pool = running.pool(2, 600ms, {.notifications = false});
    auto first = RunningStore::acquire(pool);
    auto second = RunningStore::acquire(pool);
    CHECK(RunningStore::acquire_error(pool, {.wait = 300ms}) == errc::timed_out);
    auto const valid_until = first.valid_until();
    CHECK(eventually([&] { return first.valid_until() > valid_until; }));
    CHECK(RunningStore::release(first) == ReleaseOutcome::released);
    CHECK(RunningStore::release(second) == ReleaseOutcome::released);
    auto redis = server.client();
    auto const refused = redis.call("ACL", "LOG");
    for (auto const& entry : refused.elements)
        UNSCOPED_INFO(entry.elements.at(5).text << " " << entry.elements.at(7).text);
    CHECK(refused.elements.empty());
}

TEST_CASE("without permission for channels waiters poll, and it is said once", "[integration]")
{
    require_redis();
    RedisServer server{{.config = {documented_user}}};
    RunningStore running{with_login(server, "worker:right")};
    auto const pool = running.pool(1, 10s);
    for (int round = 0; round < 3; ++round) {
        auto held = RunningStore::acquire(pool);
        auto next = pool.async_acquire(as_future);
        REQUIRE(eventually([&] { return running.store().statistics().waiting == 1; }));
        CHECK(RunningStore::release(held) == ReleaseOutcome::released);
        auto [error, slot] = soon(std::move(next));
        CHECK_FALSE(error);
        CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
    }
    auto const log = running.log();
    std::size_t warnings = 0;
    for (std::size_t at = 0; (at = log.find("warning", at)) != std::string::npos; ++at)
        ++warnings;
    INFO(log);
    CHECK(warnings >= 1);
    CHECK(warnings <= 2);
}

TEST_CASE("a node of a cluster is reported as such", "[integration]")
{
    require_redis();
    auto const node = [] {
        return RedisServerOptions{
            .config = {
                "cluster-enabled yes", "cluster-port " + std::to_string(free_port()), "cluster-node-timeout 5000"}};
    };
    RedisServer first{node()};
    RedisServer second{node()};
    auto redis = first.client();
    redis.call("CLUSTER", "ADDSLOTSRANGE", 0, 8191);
    second.client().call("CLUSTER", "ADDSLOTSRANGE", 8192, 16383);
    redis.call(
        "CLUSTER", "MEET", "127.0.0.1", second.port(),
        second.client().call("CONFIG", "GET", "cluster-port").elements.at(1).text);
    REQUIRE(
        eventually([&] { return redis.call("CLUSTER", "INFO").text.find("cluster_state:ok") != std::string::npos; }));

    // a pool spreads over both nodes, one of these locks lies on the other
    CHECK_THAT(fails_for_good(first.url(), errc::wrong_server), ContainsSubstring("cluster"));
    RunningStore running{first.url()};
    int refused = 0;
    for (auto const* key : {"a", "b", "c", "d"}) {
        auto const error = RunningStore::acquire_error(running.lock(key, 5s), {.wait = 5s});
        CHECK((!error || error == errc::wrong_server));
        refused += error ? 1 : 0;
    }
    CHECK(refused > 0);
}

TEST_CASE("a server that loads its data is waited for", "[integration]")
{
    require_redis();
    // 500 keys at 5 ms each
    RedisServerOptions options{.config = {"enable-debug-command yes", "appendonly no"}};
    RedisServer server{options};
    auto redis = server.client();
    redis.call("DEBUG", "POPULATE", 500);
    redis.call("SAVE");
    server.kill();
    RunningStore running{server.url()};
    server.start_loading("key-load-delay 5000");
    auto const pool = running.pool(1, 5s);
    auto const error = RunningStore::acquire_error(pool, {.wait = 500ms});
    WARN(error.message() << " | " << words(running));
    CHECK((error == errc::store_refused || error == errc::store_unavailable));
    CHECK(error == condition::try_later);
    auto slot = RunningStore::acquire(pool, {.wait = 15s});
    CHECK(slot.valid());
    RunningStore::release(slot);
}

TEST_CASE("a server that cannot write to its disk costs no lease while the lease is valid", "[integration]")
{
    require_redis();
    RedisServer server{{.config = {"dbfilename dump"}}};
    auto redis = server.client();
    RunningStore running{server.url()};
    auto held = RunningStore::acquire(running.lock("held", 2s));
    FiredAt fired{held.token()};
    // a directory where the file should be: renaming onto it fails, also for root
    std::filesystem::create_directory(server.directory() + "/dump");
    redis.call("CONFIG", "SET", "save", "3600 1");
    redis.call("BGSAVE");
    REQUIRE(eventually([&] { return redis.info("rdb_last_bgsave_status") == "err"; }));

    auto const text = fails_for_now(running, running.lock("wanted", 2s));
    CHECK_THAT(text, ContainsSubstring("MISCONF"));
    bool const repaired = GENERATE(true, false);
    if (repaired) {
        CHECK(held.valid());
        redis.call("CONFIG", "SET", "save", "");
        auto lease = RunningStore::acquire(running.lock("wanted", 2s));
        CHECK(lease.valid());
        RunningStore::release(lease);
        CHECK(RunningStore::release(held) == ReleaseOutcome::released);
    } else {
        // S4: refused renewals extend nothing
        auto const valid_until = nanoseconds(held.valid_until());
        auto const at = fired.wait(10s);
        REQUIRE(at);
        CHECK(*at < valid_until);
        CHECK(held.token().reason() == CancelReason::expired);
        redis.call("CONFIG", "SET", "save", "");
    }
}

TEST_CASE_METHOD(
    RunningStoreTest, "a server without memory grants nothing new, while what is held is renewed and released",
    "[integration]")
{
    auto held = RunningStore::acquire(running.lock("held", 1s));
    redis.call("CONFIG", "SET", "maxmemory", "1mb");
    redis.call("CONFIG", "SET", "maxmemory-policy", "noeviction");
    redis.call("CONFIG", "SET", "maxmemory", "1");

    CHECK_THAT(fails_for_now(running, running.lock("wanted", 5s)), ContainsSubstring("OOM"));
    CHECK_FALSE(redis.get("wanted"));
    auto const valid_until = held.valid_until();
    CHECK(eventually([&] { return held.valid_until() > valid_until; }));
    CHECK_FALSE(held.token().cancelled());
    CHECK(RunningStore::release(held) == ReleaseOutcome::released);

    redis.call("CONFIG", "SET", "maxmemory", "0");
    auto lease = RunningStore::acquire(running.lock("wanted", 5s));
    CHECK(lease.valid());
    RunningStore::release(lease);
}

TEST_CASE_METHOD(RedisTest, "a replica grants nothing", "[integration]")
{
    RedisServer replica{{.config = {"replicaof 127.0.0.1 " + std::to_string(server.port())}}};
    REQUIRE(eventually([&] { return replica.client().info("master_link_status") == "up"; }));
    RunningStore running{replica.url()};
    auto const error = RunningStore::acquire_error(running.lock("wanted", 5s), {.wait = 800ms});
    WARN(error.message() << " | " << words(running));
    CHECK((error == errc::store_refused || error == errc::wrong_server));
    CHECK_THAT(words(running), ContainsSubstring("READONLY") || ContainsSubstring("replica"));
}

TEST_CASE_METHOD(RedisTest, "too many clients is an error that passes", "[integration]")
{
    auto redis = server.client();
    redis.call("CONFIG", "SET", "maxclients", 1);
    RunningStore running{server.url()};
    auto const lock = running.lock("wanted", 5s);
    auto const error = RunningStore::acquire_error(lock, {.wait = 800ms});
    WARN(error.message() << " | " << words(running));
    CHECK(error == condition::try_later);
    CHECK_THAT(words(running), ContainsSubstring("max number of clients"));
    redis.call("CONFIG", "SET", "maxclients", 100);
    auto lease = RunningStore::acquire(lock, {.wait = 10s});
    CHECK(lease.valid());
    RunningStore::release(lease);
}

TEST_CASE_METHOD(RunningStoreTest, "keys that never become free are reported without a wait", "[integration]")
{
    redis.call("SET", "thread_id_lock:0", "forever");
    redis.call("LPUSH", "thread_id_lock:1", "a", "b");
    auto const begin = std::chrono::steady_clock::now();
    CHECK(RunningStore::acquire_error(running.pool(2, 5s), {.wait = 20s}) == errc::key_conflict);
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
    // a third slot is free: the foreign ones are only passed over
    auto slot = RunningStore::acquire(running.pool(3, 5s));
    CHECK(slot.id() == 2);
    CHECK(RunningStore::acquire_error(running.pool(3, 5s), {.wait = 300ms}) == errc::timed_out);
    RunningStore::release(slot);
    CHECK(redis.get("thread_id_lock:0") == "forever");
    CHECK(redis.call("LLEN", "thread_id_lock:1").integer == 2);
}

TEST_CASE("a refused connection: the wait ends, and its error names the address", "[integration]")
{
    auto const port = free_port();
    RunningStore running{"redis://127.0.0.1:" + std::to_string(port)};
    auto const begin = std::chrono::steady_clock::now();
    auto const error = RunningStore::acquire_error(running.lock("wanted", 5s), {.wait = 700ms});
    auto const took = std::chrono::steady_clock::now() - begin;
    CHECK(error == errc::store_unavailable);
    CHECK(took >= 650ms);
    CHECK(took < 5s);
    CHECK_THAT(words(running), ContainsSubstring(std::to_string(port)));
    CHECK_THAT(words(running), ContainsSubstring("refused") || ContainsSubstring("connect"));
}
