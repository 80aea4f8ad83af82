// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Processes that share a pool while they are stopped and killed, and their server stops and restarts (S1, S10, S11,
// S13, L1).
#include "harness/auditor.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace tenure::test;

namespace
{

constexpr std::uint32_t slots = 3;
constexpr std::chrono::milliseconds soak_ttl = 600ms;

ChildProcess worker(std::string const& url, std::string const& audit, std::chrono::seconds time)
{
    return ChildProcess{Command{
        {test_program("pool_worker"), url, audit, std::to_string(slots), std::to_string(soak_ttl.count()), "900",
         std::to_string(time.count())}}};
}

/** Tokens of one key in the order in which it was entered. */
void check_fencing(std::vector<Holding> holdings)
{
    std::stable_sort(
        holdings.begin(), holdings.end(), [](Holding const& a, Holding const& b) { return a.entered < b.entered; });
    std::map<std::uint32_t, std::uint64_t> last;
    for (auto const& holding : holdings) {
        // one that was stopped between grant and entry appears behind its successor, and is over when it does
        if (holding.valid_until <= holding.entered)
            continue;
        CHECK(holding.fencing_token > last[holding.cell]);
        last[holding.cell] = holding.fencing_token;
    }
}

void check(Auditor const& auditor)
{
    for (auto const& violation : auditor.violations())
        FAIL_CHECK(violation.describe());
    check_fencing(auditor.holdings());
}

/** Every lock key has a ttl. The counter of fencing tokens has none. */
void check_expiries(RedisClient& redis)
{
    for (auto const& key : redis.keys("*")) {
        CAPTURE(key);
        CHECK((redis.pttl(key) == -1) == (key == "tenure:fence"));
    }
}

/** Six workers that share a pool for the time of a soak and this long after it. */
struct Soak {
    Soak(std::string const& url, std::chrono::seconds longer)
    {
        for (int i = 0; i < 6; ++i)
            workers.push_back(worker(url, audit, time + longer));
    }

    ScratchDirectory directory;
    std::string audit = directory.file("audit");
    Auditor auditor = Auditor::create(audit, slots);
    std::chrono::seconds time = soak_time(8s);
    std::vector<ChildProcess> workers;
};

} // namespace

TEST_CASE_METHOD(RedisTest, "workers that are stopped and killed never share a slot", "[integration]")
{
    auto redis = server.client();
    Soak soak(server.url(), 60s);

    std::mt19937_64 random{42};
    auto const end = std::chrono::steady_clock::now() + soak.time;
    int kills = 0;
    int pauses = 0;
    while (std::chrono::steady_clock::now() < end) {
        auto& victim = soak.workers[random() % soak.workers.size()];
        if (random() % 3 == 0) {
            victim.kill();
            ++kills;
            check_expiries(redis);
            victim = worker(server.url(), soak.audit, soak.time + 60s);
        } else {
            victim.pause();
            ++pauses;
            // two of three longer than the ttl
            std::this_thread::sleep_for(soak_ttl / 2 + std::chrono::milliseconds{random() % 900});
            victim.resume();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{random() % 100});
    }
    soak.workers.clear();
    check(soak.auditor);
    check_expiries(redis);
    auto const grants = soak.auditor.holdings().size();
    WARN(grants << " grants through " << kills << " kills and " << pauses << " pauses");
    CHECK(grants > 20);
    CHECK(pauses > 3);
    CHECK(eventually([&] { return redis.keys("thread_id_lock:*").empty(); }, soak_ttl + 1s));
}

TEST_CASE("workers never share a slot while their server stops and dies", "[integration]")
{
    require_redis();
    // with its data: a server that forgets its locks breaks S1, and only the fencing token covers that
    RedisServer server{{.config = {"appendonly yes", "appendfsync always"}}};
    Soak soak(server.url(), 0s);

    std::mt19937_64 random{7};
    auto const end = std::chrono::steady_clock::now() + soak.time;
    int faults = 0;
    while (std::chrono::steady_clock::now() < end) {
        switch (++faults % 3) {
        case 0:
            server.restart();
            break;
        case 1:
            server.pause();
            std::this_thread::sleep_for(std::chrono::milliseconds{random() % 900});
            server.resume();
            break;
        default:
            server.client().call("CLIENT", "KILL", "TYPE", "normal");
            break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{200 + random() % 500});
    }
    for (auto& each : soak.workers)
        CHECK(each.wait_for(20s).value_or(ExitStatus{}) == ExitStatus{0, 0});
    check(soak.auditor);
    auto redis = server.client();
    check_expiries(redis);
    auto const grants = soak.auditor.holdings().size();
    WARN(grants << " grants through " << faults << " faults of the server");
    CHECK(grants > 15);
    CHECK(eventually([&] { return redis.keys("thread_id_lock:*").empty(); }, soak_ttl + 1s));
}

TEST_CASE_METHOD(RedisTest, "the slot of a killed worker is held again within its ttl and a second", "[integration]")
{
    ScratchDirectory directory;
    auto const audit = directory.file("audit");
    auto const auditor = Auditor::create(audit, slots);
    RunningStore waiting{server.url()};
    for (int round = 0; round < (long_form() ? 40 : 4); ++round) {
        auto const before = auditor.holdings().size();
        auto holder = worker(server.url(), audit, 100s);
        REQUIRE(eventually([&] { return auditor.holdings().size() > before; }));
        auto const held = auditor.holdings().back().cell;
        auto const pool = waiting.pool(held + 1, soak_ttl);
        std::vector<tenure::Slot> others;
        for (std::uint32_t other = 0; other < held; ++other)
            others.push_back(RunningStore::acquire(pool));
        auto next = pool.async_acquire(as_future);
        holder.kill();
        auto const killed = std::chrono::steady_clock::now();
        auto [error, slot] = within(10s, std::move(next));
        auto const took = std::chrono::steady_clock::now() - killed;
        REQUIRE_FALSE(error);
        CHECK(took < soak_ttl + 1s);
        RunningStore::release(slot);
        for (auto& other : others)
            RunningStore::release(other);
    }
}
