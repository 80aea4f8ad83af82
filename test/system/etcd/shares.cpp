// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Places on etcd beside those of other programs.
#include "harness/child_process.hpp"
#include "harness/etcd_server.hpp"
#include "harness/eventually.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"

#include "store/etcd/http/base64.hpp"
#include "store/etcd/http/messages.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

etcd::RangeReply places(EtcdServer const& server, std::string const& key)
{
    auto const body = etcd::range_body({key + '/', key + '0'}, {.by_creation = true});
    auto reply = etcd::parse_range(etcd_post(server.port(), "kv/range", body));
    if (!reply)
        throw std::runtime_error("etcd does not answer");
    return *reply;
}

} // namespace

TEST_CASE_METHOD(EtcdTest, "a fair election and etcdctl elect are one election", "[etcd][shares]")
{
    RunningStore running{server.url()};
    Election const election(running.store(), {.name = "scheduler", .fair = true});
    auto leader = soon(election.async_campaign(asio::use_future));
    auto const held = places(server, "scheduler");
    REQUIRE(held.found.size() == 1);
    CHECK(held.found.front().create_revision == leader.fencing_token());

    ScratchDirectory const directory;
    ChildProcess candidate{Command{
        {"etcdctl", "--endpoints", "127.0.0.1:" + std::to_string(server.port()), "elect", "scheduler", "theirs"},
        {{"ETCDCTL_API", "3"}},
        directory.file("output")}};
    REQUIRE(eventually([&] { return places(server, "scheduler").found.size() == 2; }, 10s));
    auto next = election.async_campaign(as_future);
    REQUIRE(eventually([&] { return places(server, "scheduler").found.size() == 3; }, 10s));
    CHECK(directory.text_of("output").empty());
    CHECK(RunningStore::release(leader) == ReleaseOutcome::released);
    CHECK(eventually([&] { return directory.text_of("output").find("theirs") != std::string::npos; }, 10s));
    CHECK(next.wait_for(500ms) == std::future_status::timeout);
    candidate.signal(SIGINT); // it resigns
    auto [error, lease] = soon(std::move(next));
    REQUIRE_FALSE(error);
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE_METHOD(EtcdTest, "a key with 1,024 places takes no more, and none is left", "[etcd][shares]")
{
    for (int i = 0; i < 1024; ++i) {
        auto const place = etcd::to_base64("busy/" + std::to_string(i));
        REQUIRE_THAT(
            etcd_post(server.port(), "kv/put", R"({"key":")" + place + R"("})"), ContainsSubstring("revision"));
    }
    RunningStore running{server.url()};
    Lock const lock(running.store(), {.key = "busy", .ttl = 5s, .fair = true});
    CHECK(RunningStore::acquire_error(lock, {.wait = 0ms}) == errc::timed_out);
    // the place that its last claim took may be on its way out when the wait ends
    CHECK(RunningStore::acquire_error(lock, {.wait = 1s}));
    CHECK(eventually([&] { return places(server, "busy").found.size() == 1024; }, 10s));
}

TEST_CASE_METHOD(EtcdTest, "waiters ask again when it is their turn, and not at each release", "[etcd][shares]")
{
    constexpr int waiters = 8;
    RunningStore holder{server.url()};
    auto lease = RunningStore::acquire(Lock(holder.store(), {.key = "queue", .ttl = 60s, .fair = true}));
    LeaseOptions const patient{.max_poll_interval = 60s};
    std::vector<std::unique_ptr<RunningStore>> stores;
    std::vector<std::future<std::tuple<error_code, Lease>>> waiting;
    for (int i = 0; i < waiters; ++i) {
        auto const& store = stores.emplace_back(std::make_unique<RunningStore>(server.url()))->store();
        waiting.push_back(Lock(store, {.key = "queue", .ttl = 60s, .lease = patient, .fair = true})
                              .async_acquire({.wait = 60s}, as_future));
        REQUIRE(eventually([&] { return places(server, "queue").found.size() == static_cast<std::size_t>(i) + 2; }));
    }
    // each watches by then, and has asked once since
    std::this_thread::sleep_for(1s);
    auto const claims = [&] {
        std::uint64_t sum = 0;
        for (auto const& store : stores)
            sum += store->store().metrics().requests[static_cast<std::size_t>(RequestKind::claim)].round_trip.count();
        return sum;
    };
    auto const before = claims();
    for (auto& next : waiting) {
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        auto [error, granted] = soon(std::move(next));
        REQUIRE_FALSE(error);
        lease = std::move(granted);
    }
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    CHECK(claims() - before == waiters);
}
