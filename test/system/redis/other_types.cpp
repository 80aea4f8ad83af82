// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A key that another program holds as a hash with a ttl, as Redisson does: tenure waits for it.
#include "harness/redis_cluster.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace tenure::test
{

namespace
{

using Words = std::vector<std::string>;

/** A lock of another program, on every server that a store rests on. */
class HashLock
{
public:
    using Send = std::function<void(Words const&)>;

    HashLock(std::string key, Send send)
        : key_(std::move(key))
        , send_(std::move(send))
    {
        send_({"HSET", key_, "6b1c-client:1", "1"});
        renew(ttl);
    }

    void renew(std::chrono::milliseconds left) const { send_({"PEXPIRE", key_, std::to_string(left.count())}); }
    void release() const { send_({"DEL", key_}); }

    static constexpr std::chrono::milliseconds ttl = 1s;

private:
    std::string key_;
    Send send_;
};

/** Waits for the key while it is renewed for three of its ttls, and gets it soon after it was deleted; then once more,
 * after its ttl has ended without a renewal. */
void check_waiting(RunningStore& running, HashLock::Send const& send)
{
    auto const lock = running.lock("job", 2s);
    {
        HashLock const other("job", send);
        CHECK(RunningStore::acquire_error(lock, {.wait = 0ms}) == errc::timed_out);
        auto waiting = lock.async_acquire({.wait = 20s}, as_future);
        for (auto const end = std::chrono::steady_clock::now() + 3 * HashLock::ttl;
             std::chrono::steady_clock::now() < end;) {
            other.renew(HashLock::ttl);
            REQUIRE(waiting.wait_for(HashLock::ttl / 6) == std::future_status::timeout);
        }
        other.release();
        auto [error, lease] = within(5s, std::move(waiting));
        REQUIRE_FALSE(error);
        CHECK(lease.valid());
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    }
    HashLock const dead("job", send);
    dead.renew(1500ms);
    auto const begin = std::chrono::steady_clock::now();
    auto lease = RunningStore::acquire(lock, {.wait = 20s});
    auto const took = std::chrono::steady_clock::now() - begin;
    CHECK(took > 1300ms);
    CHECK(took < 8s);
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

} // namespace

TEST_CASE_METHOD(RedisTest, "a hash with a ttl is waited for: one server", "[redis]")
{
    auto client = server.client();
    RunningStore running{server.url()};
    check_waiting(running, [&](Words const& words) { client.send(words); });
}

TEST_CASE("a hash with a ttl is waited for: a majority of servers", "[redlock]")
{
    require_redis();
    std::vector<std::unique_ptr<RedisServer>> servers;
    std::vector<RedisClient> clients;
    std::string url = "redlock://";
    for (int i = 0; i < 3; ++i) {
        servers.push_back(std::make_unique<RedisServer>());
        clients.push_back(servers.back()->client());
        url += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(servers.back()->port());
    }
    RunningStore running{url};
    // without a majority of free servers there is no grant
    check_waiting(running, [&](Words const& words) {
        clients[0].send(words);
        clients[2].send(words);
    });
}

TEST_CASE("a hash with a ttl is waited for: a cluster", "[cluster]")
{
    require_redis();
    RedisCluster cluster({.replicas = 0});
    RunningStore running{cluster.url()};
    check_waiting(running, [&](Words const& words) { cluster.call(words); });
    // a pool that is spread over the nodes waits for the one of its keys that frees
    cluster.call({"HSET", "thread_id_lock:0", "field", "1"});
    HashLock const other("thread_id_lock:1", [&](Words const& words) { cluster.call(words); });
    auto slot = RunningStore::acquire(running.pool(2, 2s), {.wait = 10s});
    CHECK(slot.id() == 1);
    RunningStore::release(slot);
    CHECK(RunningStore::acquire_error(running.pool(1, 2s), {.wait = 10s}) == errc::key_conflict);
}

} // namespace tenure::test
