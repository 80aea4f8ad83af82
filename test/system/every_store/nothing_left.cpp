// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The memory of a store is freed with it, for every kind of store.
#include "harness/etcd_server.hpp"
#include "harness/redis_server.hpp"
#include "harness/zookeeper_server.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;

namespace
{

/** One lease; then all is let go of, and the log sink, which everything else of the store keeps alive, must be gone. */
void hold_and_let_go(std::string const& url)
{
    auto kept = std::make_shared<int>();
    std::weak_ptr<int> const observed = kept;
    bool released = false;
    {
        asio::io_context context;
        StoreOptions options;
        options.log = [kept = std::move(kept)](LogLevel, std::string_view) {};
        options.log_level = LogLevel::trace;
        auto lease = std::make_unique<Lease>();
        Lock(
            open_store(context.get_executor(), url, std::move(options)),
            LockConfig{"nothing-left", std::chrono::seconds{2}, {}})
            .async_acquire([&](error_code const& error, Lease granted) {
                CHECK_FALSE(error);
                *lease = std::move(granted);
                lease->async_release([&](error_code const&, ReleaseOutcome outcome) {
                    released = outcome == ReleaseOutcome::released;
                    lease.reset();
                });
            });
        context.run();
    }
    CHECK(released);
    CHECK(flush_log(std::chrono::seconds{10}));
    CHECK(observed.expired());
}

} // namespace

TEST_CASE_METHOD(RedisTest, "a lease on Redis leaves nothing of its store in memory", "[integration]")
{
    hold_and_let_go(server.url());
}

TEST_CASE_METHOD(EtcdTest, "a lease on etcd leaves nothing of its store in memory", "[etcd]")
{
    hold_and_let_go(server.url());
}

TEST_CASE_METHOD(ZookeeperTest, "a lease on ZooKeeper leaves nothing of its store in memory", "[zookeeper]")
{
    hold_and_let_go(server.url());
}
