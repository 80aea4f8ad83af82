// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// examples/worker/worker.cpp: it is evicted, its server is paused, it is paused itself, and SIGTERM ends it in a job.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"
#include "system/support/service_process.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <thread>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;

namespace
{

constexpr auto worker_ttl = 1500ms;

struct WorkerTest {
    WorkerTest()
        : worker(
              {std::string(TENURE_EXAMPLES) + "/worker", server.url(), "3", std::to_string(worker_ttl.count())},
              directory.file("worker.log"))
    {
    }

    /** Waits until one more job was done under the number. */
    [[nodiscard]] bool works_as(int number) const
    {
        auto const job = "worker " + std::to_string(number) + " did job";
        auto const before = worker.count(job);
        return eventually([&] { return worker.count(job) > before; }, worker_ttl + 10s);
    }

    /** SIGTERM: it ends in order, and nothing is held. */
    void check_end()
    {
        CHECK(worker.end(SIGTERM, 5s) == ExitStatus{0, 0});
        CHECK(worker.count("stopped") == 1);
        for (auto const& key : server.client().keys("worker:*"))
            CHECK(server.client().get(key).value_or("").starts_with("evicted/"));
    }

    RedisServer server;
    ScratchDirectory directory;
    ServiceProcess worker;
};

} // namespace

TEST_CASE("a worker that is evicted works under another number, and gives that one back on SIGTERM", "[redis][worker]")
{
    require_redis();
    WorkerTest test;
    REQUIRE(test.works_as(0));

    RunningStore const operations{test.server.url()};
    auto const range = numbered_keys("worker:", 3);
    auto const states = soon(operations.store().async_inspect(range, asio::use_future));
    (void)soon(operations.store().async_evict(states.at(0), "test", asio::use_future));

    // number 0 rests until the ttl of the evicted lease is over
    CHECK(test.works_as(1));
    test.check_end();
}

TEST_CASE(
    "a worker stops while its lease is valid when its server is paused, and works on afterwards", "[redis][worker]")
{
    require_redis();
    WorkerTest test;
    REQUIRE(test.works_as(0));
    test.server.pause();
    std::this_thread::sleep_for(worker_ttl);
    auto const jobs = test.worker.count("worker 0 did");
    std::this_thread::sleep_for(300ms);
    CHECK(test.worker.count("worker 0 did") == jobs);
    test.server.resume();
    CHECK(eventually([&] { return test.worker.count("begins as worker") == 2; }, worker_ttl + 10s));
    CHECK((test.works_as(0) || test.works_as(1)));
    test.check_end();
}

TEST_CASE("a worker that is paused for longer than the ttl does no job under the old lease", "[redis][worker]")
{
    require_redis();
    WorkerTest test;
    REQUIRE(test.works_as(0));
    test.worker.pause();
    auto const jobs = test.worker.count("worker 0 did");
    REQUIRE(eventually([&] { return test.server.client().keys("worker:*").empty(); }, worker_ttl + 5s));
    test.worker.resume();
    REQUIRE(eventually([&] { return test.worker.count("begins as worker") == 2; }, worker_ttl + 10s));
    auto const lines = test.worker.lines();
    std::size_t before = 0;
    std::size_t begins = 0;
    for (auto const& line : lines) {
        begins += line.starts_with("begins as worker") ? 1U : 0U;
        before += begins == 1 && line.starts_with("worker 0 did") ? 1U : 0U;
    }
    CHECK(before == jobs);
    test.check_end();
}

TEST_CASE_METHOD(RedisTest, "a worker ends with the reason when no number can ever become free", "[redis][worker]")
{
    ScratchDirectory const directory;
    // a value that never expires, which no lease may take
    server.client().call("SET", "worker:0", "not a lease");
    ServiceProcess worker({std::string(TENURE_EXAMPLES) + "/worker", server.url(), "1"}, directory.file("log"));
    CHECK(worker.wait_for(10s) == ExitStatus{1, 0});
    CHECK(worker.count("all keys are held by values") + worker.count("another program's value is in the way") == 1);
}
