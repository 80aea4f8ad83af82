// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Stores with threads of their own, on real servers.
#include "harness/child_process.hpp"
#include "harness/etcd_server.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/zookeeper_server.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

/** One thread, which a handler blocks for three times the ttl. */
void hold_under_a_handler_that_blocks(std::string const& url, std::chrono::milliseconds ttl)
{
    asio::io_context context;
    StoreOptions options;
    options.own_thread = true;
    auto const store = open_store(context, url, std::move(options));
    std::optional<ReleaseOutcome> outcome;
    std::optional<error_code> closed;
    Lease lease;
    Lock(store, LockConfig{"kept", ttl, {}}).async_acquire([&](error_code error, Lease granted) {
        REQUIRE_FALSE(error);
        lease = std::move(granted);
        std::this_thread::sleep_for(3 * ttl);
        CHECK(lease.valid());
        CHECK_FALSE(lease.token().cancelled());
        lease.async_release([&](error_code, ReleaseOutcome result) {
            outcome = result;
            store.async_close(5s, [&](error_code result_of_close) { closed = result_of_close; });
        });
    });
    context.run();
    CHECK(outcome == ReleaseOutcome::released);
    CHECK(closed == error_code());
}

/** How long the program took to end well; more than that: it hung. */
std::chrono::steady_clock::duration run(std::string const& url, std::string const& how, std::string const& key)
{
    auto const began = std::chrono::steady_clock::now();
    ChildProcess program{Command{{test_program("own_thread_ends"), url, how, key}}};
    auto const ended = program.wait_for(20s);
    REQUIRE(ended);
    CHECK(*ended == ExitStatus{0, 0});
    return std::chrono::steady_clock::now() - began;
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "a handler that blocks the only thread costs no lease on Redis where the store has its own",
    "[integration]")
{
    hold_under_a_handler_that_blocks(server.url(), 1000ms);
}

TEST_CASE_METHOD(
    EtcdTest, "a handler that blocks the only thread costs no lease on etcd where the store has its own", "[etcd]")
{
    hold_under_a_handler_that_blocks(server.url(), 2500ms);
}

TEST_CASE_METHOD(
    ZookeeperTest, "a handler that blocks the only thread costs no lease on ZooKeeper where the store has its own",
    "[zookeeper]")
{
    hold_under_a_handler_that_blocks(server.url(), 1000ms);
}

TEST_CASE_METHOD(RedisTest, "a program ends well whatever its store's thread is at", "[integration]")
{
    for (std::string const how : {"static-before", "static-after", "leaked", "runs-on", "exit-elsewhere"})
        for (auto const& url : {server.url(), std::string("memory://")})
            for (int round = 0; round < 3; ++round) {
                INFO(how << " " << url);
                // the leases of an earlier one expire later
                CHECK(run(url, how, how + std::to_string(round)) < 5s);
            }
}

TEST_CASE_METHOD(
    RedisTest, "leases dropped just before the end of the program are released by the store's thread", "[integration]")
{
    asio::io_context context;
    auto const store = open_store(context, server.url());
    Lock const lock(store, LockConfig{"job", 20s, {}});
    for (int round = 0; round < 5; ++round) {
        CHECK(run(server.url(), "let-go", "job") < 5s);
        auto lease = lock.async_try_acquire(asio::use_future);
        while (lease.wait_for(0s) != std::future_status::ready)
            context.run_one();
        auto held = lease.get();
        REQUIRE(held);
        auto released = held->async_release(asio::use_future);
        while (released.wait_for(0s) != std::future_status::ready)
            context.run_one();
    }
}
