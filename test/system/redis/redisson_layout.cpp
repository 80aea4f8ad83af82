// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Keys in the layout of Redisson's RLock and RFencedLock, beside what its scripts do. The scripts themselves contend in
// test/contention.
#include "harness/eventually.hpp"
#include "harness/redis_cluster.hpp"
#include "harness/redis_server.hpp"
#include "system/redis/minimal_permissions.hpp"
#include "system/support/running_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/read_write_lock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <future>
#include <string>

namespace tenure::test
{

namespace
{

std::string const option = "?lock_layout=redisson";
/// as Redisson names a thread of a client
std::string const thread = "285475da-9152-4c83-822a-67ee2f116a79:52";

std::string field_of(RedisClient& client, std::string const& key)
{
    auto const fields = client.call("HGETALL", key).elements;
    REQUIRE(fields.size() == 2);
    CHECK(fields[1].text == "1");
    return fields[0].text;
}

KeyState look(RunningStore& running, std::string const& key)
{
    auto [error, states] = soon(running.store().async_inspect(named_key(key), as_future));
    REQUIRE_FALSE(error);
    return states.at(0);
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "a lock is a hash with its owner as field, and tokens come from RFencedLock's counter", "[redis]")
{
    auto client = server.client();
    RunningStore running{server.url() + option};
    auto const lock = running.lock("job", 5s);
    for (std::uint64_t token = 1; token <= 3; ++token) {
        auto lease = RunningStore::acquire(lock);
        CHECK(lease.fencing_token() == token);
        CHECK(field_of(client, "job") == lease.owner());
        CHECK(client.pttl("job") > 3000);
        CHECK(client.pttl("job") <= 5000);
        CHECK(client.get("redisson_lock_token:{job}") == std::to_string(token));
        auto const seen = look(running, "job");
        CHECK(seen.kind == KeyState::Kind::held);
        CHECK(seen.owner == lease.owner());
        CHECK(seen.fencing_token == token);
        // its renewals
        client.call("PEXPIRE", "job", 2000);
        CHECK(eventually([&] { return client.pttl("job") > 4000; }, 5s));
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        CHECK(client.call("EXISTS", "job").integer == 0);
    }
    // RLock draws none
    auto plain = RunningStore::acquire(running.lock("plain", 5s, {.fencing = false}));
    CHECK_FALSE(plain.has_fencing_token());
    CHECK(client.keys("redisson_lock_token:{plain}").empty());
    CHECK(client.keys("tenure:*").empty());
    CHECK(client.keys("*:waiting").empty());
}

TEST_CASE_METHOD(RedisTest, "a thread of Redisson that holds a lock is waited for, and its message wakes", "[redis]")
{
    auto client = server.client();
    RunningStore running{server.url() + option};
    // no poll before the message: a waiter asks at the end of the ttl, or when it is told
    auto const lock = running.lock("job", 5s);
    client.call("HSET", "job", thread, 1);
    client.call("PEXPIRE", "job", 30'000);
    CHECK(RunningStore::acquire_error(lock, {.wait = 0ms}) == errc::timed_out);
    CHECK(look(running, "job").owner == thread);
    auto waiting = lock.async_acquire({.wait = 20s}, as_future);
    CHECK(eventually(
        [&] { return client.call("PUBSUB", "NUMSUB", "redisson_lock__channel:{job}").elements.at(1).integer == 1; }));
    CHECK(waiting.wait_for(300ms) == std::future_status::timeout);
    client.call("DEL", "job");
    client.call("PUBLISH", "redisson_lock__channel:{job}", 0);
    auto [error, lease] = soon(std::move(waiting));
    REQUIRE_FALSE(error);
    CHECK(field_of(client, "job") == lease.owner());
    // a client with Redisson asks for the ttl of a lock that it finds
    CHECK(client.call("HEXISTS", "job", thread).integer == 0);
}

TEST_CASE_METHOD(
    RedisTest, "a release publishes 0 on Redisson's channel, and removes the lock of nobody else", "[redis]")
{
    auto client = server.client();
    auto listener = server.client();
    listener.call("SUBSCRIBE", "redisson_lock__channel:{job}");
    RunningStore running{server.url() + option};
    auto lease = RunningStore::acquire(running.lock("job", 30s));
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    auto const message = listener.receive(5s);
    REQUIRE(message);
    CHECK(message->elements.back().text == "0");

    auto late = RunningStore::acquire(running.lock("job", 30s));
    client.call("DEL", "job");
    client.call("HSET", "job", thread, 2);
    CHECK(RunningStore::release(late) == ReleaseOutcome::was_lost);
    CHECK(client.call("HGET", "job", thread).text == "2");
    CHECK_FALSE(listener.receive(300ms));
}

TEST_CASE_METHOD(RedisTest, "kinds of keys exclude each other, whatever their layout", "[redis]")
{
    auto client = server.client();
    RunningStore hashes{server.url() + option};
    RunningStore strings{server.url()};
    SECTION("a string of this library, or of another program")
    {
        auto lease = RunningStore::acquire(strings.lock("job", 30s));
        CHECK(RunningStore::acquire_error(hashes.lock("job", 30s), {.wait = 200ms}) == errc::timed_out);
        CHECK(look(hashes, "job").owner == lease.owner());
        CHECK(lease.valid());
        CHECK(client.get("job") == lease.owner());
    }
    SECTION("a hash, for programs without the option")
    {
        auto lease = RunningStore::acquire(hashes.lock("job", 30s));
        CHECK(RunningStore::acquire_error(strings.lock("job", 30s), {.wait = 200ms}) == errc::timed_out);
        CHECK(field_of(client, "job") == lease.owner());
    }
    SECTION("places")
    {
        ReadWriteLock const both(hashes.store(), {.key = "job", .ttl = 30s});
        auto reader = RunningStore::acquire(both.read_lock());
        CHECK(RunningStore::acquire_error(hashes.lock("job", 30s), {.wait = 200ms}) == errc::timed_out);
        CHECK(reader.valid());
        CHECK(RunningStore::release(reader) == ReleaseOutcome::released);
        auto lease = RunningStore::acquire(hashes.lock("job", 30s));
        CHECK(RunningStore::acquire_error(both.write_lock(), {.wait = 200ms}));
        CHECK(lease.valid());
    }
    SECTION("RReadWriteLock")
    {
        client.call("HSET", "job", "mode", "read", thread, 1);
        client.call("PEXPIRE", "job", 30'000);
        CHECK(RunningStore::acquire_error(hashes.lock("job", 30s), {.wait = 200ms}) == errc::timed_out);
        CHECK(client.call("HLEN", "job").integer == 2);
        CHECK(look(hashes, "job").kind == KeyState::Kind::foreign);
    }
    SECTION("a pool stays what it is")
    {
        auto slot = RunningStore::acquire(hashes.pool(3, 30s));
        CHECK(client.call("TYPE", slot.key()).text == "string");
    }
}

TEST_CASE_METHOD(RedisTest, "a lock in Redisson's layout is evicted, kept and left to rest as any other", "[redis]")
{
    auto client = server.client();
    RunningStore running{server.url() + option};
    auto lease = RunningStore::acquire(running.lock("job", 2s));
    auto const owner = lease.owner();
    SECTION("evicted")
    {
        auto const [error, left] =
            soon(running.store().async_evict({.range = named_key("job"), .owner = owner}, "anna", as_future));
        CHECK_FALSE(error);
        CHECK(left > 0ms);
        CHECK(field_of(client, "job") == "evicted/anna");
        CHECK(eventually([&] { return lease.token().cancelled(); }, 5s));
        CHECK(eventually([&] { return client.call("EXISTS", "job").integer == 0; }, 5s));
    }
    SECTION("evicted from a thread of Redisson")
    {
        client.call("HSET", "theirs", thread, 1);
        client.call("PEXPIRE", "theirs", 2000);
        auto const [error, left] = soon(running.store().async_evict(look(running, "theirs"), "anna", as_future));
        CHECK_FALSE(error);
        CHECK(field_of(client, "theirs") == "evicted/anna");
        CHECK(client.pttl("theirs") <= 2000);
    }
    SECTION("kept")
    {
        soon(lease.async_detach(1500ms, asio::use_future));
        CHECK(field_of(client, "job") == "kept/" + owner);
        CHECK(look(running, "job").kind == KeyState::Kind::kept);
        CHECK(client.pttl("job") <= 1500);
    }
    SECTION("resting")
    {
        Lock const careful(running.store(), {.key = "careful", .ttl = 2s, .reuse_after = 1s});
        auto held = RunningStore::acquire(careful);
        auto const name = held.owner();
        CHECK(client.pttl("careful") > 2000);
        CHECK(RunningStore::release(held) == ReleaseOutcome::released);
        CHECK(field_of(client, "careful") == "resting/" + name);
        CHECK(client.pttl("careful") <= 1000);
        auto next = RunningStore::acquire(careful, {.wait = 5s});
        CHECK(next.valid());
    }
}

TEST_CASE("the documented permissions are enough for Redisson's layout", "[redis][acl]")
{
    require_redis();
    RedisServer server{
        {.config = {
             std::string(minimal_user) + " +subscribe +unsubscribe +publish +hget +hset +hdel +hgetall +hlen "
                                         "~redisson_lock_token:{P*} &redisson_lock__channel:{P*}"}}};
    auto client = server.client();
    {
        RunningStore running{"redis://worker:secret@127.0.0.1:" + std::to_string(server.port()) + option};
        auto lease = RunningStore::acquire(running.lock("P-lock", 2s));
        auto waiting = running.lock("P-lock", 2s).async_acquire({.wait = 20s}, as_future);
        CHECK(waiting.wait_for(1500ms) == std::future_status::timeout);
        CHECK(look(running, "P-lock").fencing_token == 1);
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        auto [error, next] = soon(std::move(waiting));
        CHECK_FALSE(error);
        soon(next.async_detach(100ms, asio::use_future));
    }
    CHECK(client.call("ACL", "LOG").elements.empty());
}

TEST_CASE("a counter of another type is named, and nothing is held", "[redis]")
{
    require_redis();
    RedisServer server;
    auto client = server.client();
    client.call("RPUSH", "redisson_lock_token:{job}", "x");
    RunningStore running{server.url() + option};
    CHECK(RunningStore::acquire_error(running.lock("job", 2s), {.wait = 2s}) == errc::key_conflict);
    CHECK_THAT(
        running.store().diagnostics().last_detail,
        Catch::Matchers::ContainsSubstring("another program wrote redisson_lock_token:{job}") &&
            Catch::Matchers::ContainsSubstring("tokens begin anew"));
    CHECK(client.call("EXISTS", "job").integer == 0);
}

TEST_CASE("Redisson's layout in a cluster: key, counter and channel share a hash slot", "[cluster]")
{
    require_redis();
    RedisCluster cluster({.replicas = 0});
    RunningStore running{cluster.url() + option};
    for (auto const* const key : {"job", "{jobs}:nightly", "other"}) {
        CAPTURE(key);
        auto const lock = running.lock(key, 5s);
        auto lease = RunningStore::acquire(lock);
        CHECK(lease.fencing_token() == 1);
        CHECK(cluster.call({"HGET", key, lease.owner()}).text == "1");
        auto waiting = lock.async_acquire({.wait = 20s}, as_future);
        CHECK(waiting.wait_for(100ms) == std::future_status::timeout);
        CHECK(look(running, key).owner == lease.owner());
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        auto [error, next] = soon(std::move(waiting));
        REQUIRE_FALSE(error);
        CHECK(next.fencing_token() == 2);
        CHECK(RunningStore::release(next) == ReleaseOutcome::released);
    }
}

} // namespace tenure::test
