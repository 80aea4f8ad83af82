// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A user's handler that takes its time, in a program with several threads.
#include "harness/redis_server.hpp"
#include "harness/zookeeper_server.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

/** Two threads, of which the handler of an acquisition blocks one for three times the ttl. */
void hold_beside_a_handler_that_blocks(std::string const& url, std::chrono::milliseconds ttl)
{
    asio::io_context context;
    std::vector<std::jthread> threads;
    auto work = asio::make_work_guard(context);
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&] { context.run(); });

    auto const store = open_store(context.get_executor(), url);
    auto lease = Lock(store, LockConfig{"kept", ttl, {}}).async_acquire(asio::use_future).get();
    std::promise<bool> others;
    Lock(store, LockConfig{"other", ttl, {}}).async_acquire([&](error_code const& error, Lease mine) {
        std::this_thread::sleep_for(3 * ttl);
        others.set_value(!error && mine.valid() && !mine.token().cancelled());
    });
    auto ended = others.get_future();
    int looks = 0;
    int at_risk = 0;
    for (; ended.wait_for(10ms) != std::future_status::ready; ++looks)
        at_risk += lease.state() == LeaseState::at_risk ? 1 : 0;
    // a busy machine may be late with an answer, but not with all of them
    CHECK(at_risk < looks / 5);
    CHECK(ended.get());
    CHECK(lease.valid());
    CHECK_FALSE(lease.token().cancelled());
    CHECK(lease.async_release(asio::use_future).get() == ReleaseOutcome::released);
    // or the open store would keep the threads
    context.stop();
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "a handler that blocks one thread of two keeps no lease on Redis from being renewed", "[integration]")
{
    hold_beside_a_handler_that_blocks(server.url(), 1000ms);
}

TEST_CASE_METHOD(
    ZookeeperTest, "a handler that blocks one thread of two keeps no lease on ZooKeeper from being renewed",
    "[zookeeper]")
{
    hold_beside_a_handler_that_blocks(server.url(), 1000ms);
}
