// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Workers written with redis-py and workers of this library share one pool.
#include "harness/auditor.hpp"
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/redis_py.hpp"
#include "system/support/running_store_test.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace tenure::test;

namespace
{

constexpr std::uint32_t slots = 2;
constexpr std::chrono::milliseconds crowd_ttl = 700ms;

/** Both kinds of workers on one server. */
struct Crowd {
    std::string python = require_redis_py();
    RedisServer server;
    ScratchDirectory directory;
    std::string audit = directory.file("audit");
    Auditor auditor = Auditor::create(audit, slots);
    std::string seconds = {};

    [[nodiscard]] ChildProcess python_worker() const
    {
        return ChildProcess{Command{
            {python, source_path("test/system/redis/python_worker.py"), std::to_string(server.port()),
             "thread_id_lock:", std::to_string(slots), std::to_string(crowd_ttl.count()), "0-1200", "0-0", seconds,
             test_program("audit_pipe"), audit, "1-20"},
            {},
            directory.file("python.log")}};
    }
    [[nodiscard]] ChildProcess tenure_worker() const
    {
        return ChildProcess{Command{
            {test_program("pool_worker"), server.url(), audit, std::to_string(slots), std::to_string(crowd_ttl.count()),
             "1200", seconds}}};
    }
};

} // namespace

TEST_CASE("workers in Python and workers of this library exclude each other", "[integration]")
{
    require_redis();
    Crowd crowd;
    auto const time = soak_time(10s);
    crowd.seconds = std::to_string(time.count());
    std::vector<ChildProcess> workers;
    for (int i = 0; i < 3; ++i) {
        workers.push_back(crowd.python_worker());
        workers.push_back(crowd.tenure_worker());
    }

    std::mt19937_64 random{1};
    auto const end = std::chrono::steady_clock::now() + time;
    int kills = 0;
    while (std::chrono::steady_clock::now() < end - 2s) {
        std::this_thread::sleep_for(std::chrono::milliseconds{400 + random() % 600});
        auto const victim = random() % workers.size();
        if (random() % 2 == 0) {
            workers[victim].kill();
            workers[victim] = victim % 2 == 0 ? crowd.python_worker() : crowd.tenure_worker();
            ++kills;
        } else if (victim % 2 == 1) {
            // Python's part of the bargain ends where it does not look at the clock: only ours are stopped
            workers[victim].pause();
            std::this_thread::sleep_for(crowd_ttl + 200ms);
            workers[victim].resume();
        }
    }
    for (auto& worker : workers)
        CHECK(worker.wait_for(time + 20s).value_or(ExitStatus{}) == ExitStatus{0, 0});

    for (auto const& violation : crowd.auditor.violations())
        FAIL_CHECK(violation.describe());
    int ours = 0;
    int theirs = 0;
    for (auto const& holding : crowd.auditor.holdings())
        ++(holding.fencing_token != 0 ? ours : theirs);
    WARN(ours << " grants to this library and " << theirs << " to redis-py through " << kills << " kills");
    CHECK(ours > 3);
    CHECK(theirs > 3);
    auto redis = crowd.server.client();
    CHECK(eventually([&] { return redis.keys("thread_id_lock:*").empty(); }, crowd_ttl + 1s));
}

TEST_CASE_METHOD(RunningStoreTest, "a slot that Python holds is busy here, and the other way round", "[integration]")
{
    auto const pool = running.pool(1, 5s);
    // the command of redis-py
    CHECK(redis.call("SET", "thread_id_lock:0", "4c8b-uuid-77", "NX", "PX", 900).text == "OK");
    CHECK(RunningStore::acquire_error(pool, {.wait = 0ms}) == tenure::errc::timed_out);
    // it publishes nothing when its key expires or is deleted: the waiter's own timer finds out
    auto const begin = std::chrono::steady_clock::now();
    auto slot = RunningStore::acquire(pool, {.wait = 10s});
    CHECK(std::chrono::steady_clock::now() - begin < 2s);
    CHECK(redis.call("SET", "thread_id_lock:0", "4c8b-uuid-78", "NX", "PX", 900).is_null());
    RunningStore::release(slot);
    CHECK(redis.call("SET", "thread_id_lock:0", "4c8b-uuid-79", "NX", "PX", 60'000).text == "OK");
    auto next = pool.async_acquire(as_future);
    REQUIRE(eventually([&] { return running.store().statistics().waiting == 1; }));
    redis.call("DEL", "thread_id_lock:0");
    auto const freed = std::chrono::steady_clock::now();
    auto [error, again] = soon(std::move(next));
    auto const took = std::chrono::steady_clock::now() - freed;
    CHECK_FALSE(error);
    WARN(
        "a release without a message was found after "
        << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms");
    RunningStore::release(again);
}
