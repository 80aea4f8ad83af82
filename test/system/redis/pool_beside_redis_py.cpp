// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// How a pool is shared with programs that poll and announce no release.
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "system/support/audited_workers.hpp"
#include "system/support/redis_py.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace tenure::test
{

namespace
{

/** How long each client held slots between the two instants, as a share of the time of all slots. */
std::map<std::string, double> shares_of_slot_time(AuditedWorkers const& workers, std::int64_t begin, std::int64_t end)
{
    std::map<std::string, double> result;
    auto const whole = static_cast<double>(workers.keys()) * static_cast<double>(end - begin);
    for (auto const& [holding, client] : workers.grants()) {
        auto const until = holding.left != 0 ? holding.left : holding.valid_until;
        auto const held = std::min(until, end) - std::max(holding.entered, begin);
        if (held > 0)
            result[client] += static_cast<double>(held) / whole;
    }
    return result;
}

constexpr int of_redis_py = 5;

/** The share of the slot time that `processes` processes of this library get beside five workers of redis-py, which
 * have the slots first. */
double share_beside_redis_py(int processes, std::chrono::seconds time)
{
    require_redis();
    std::vector<std::string> const python{require_redis_py(), source_path("test/system/redis/python_worker.py")};
    constexpr auto longest_hold = 2s;
    // The rest is as long as a pause. A redis-py worker that asks again at once keeps its slot for good: no client that
    // polls is there within the 0.3 ms in which the slot is free.
    AuditedWorkers workers{
        {.slots = 3, .ttl = 1s, .hold = "500-2000", .rest = "10-50", .pause = "10-50", .time = time + 120s}};
    for (int i = 0; i < of_redis_py; ++i)
        workers.start_polling("redis-py", python);
    // Python takes its time to start: none of its workers may be missing
    auto redis = workers.server().client();
    auto const clients = std::to_string(of_redis_py + 1);
    REQUIRE(eventually([&] { return redis.info("connected_clients") == clients; }, 30s));
    REQUIRE(eventually([&] { return redis.keys("thread_id_lock:*").size() == 3; }));
    for (int i = 0; i < processes; ++i)
        workers.start_tenure("this library", test_program("patient_worker"));
    // each slot was released once by then
    std::this_thread::sleep_for(longest_hold);

    auto const begin = boottime_ns();
    std::this_thread::sleep_for(time);
    auto const end = boottime_ns();
    CHECK(workers.all_running());
    for (auto const& overlap : workers.double_holdings())
        FAIL_CHECK(overlap);
    auto shares = shares_of_slot_time(workers, begin, end);
    auto const ours = shares["this library"];
    auto const theirs = shares["redis-py"];
    WARN(
        "slot time: " << static_cast<int>(100 * ours + 0.5) << " % of " << processes << " of this library, "
                      << static_cast<int>(100 * theirs + 0.5) << " % of " << of_redis_py
                      << " of redis-py, the rest free");
    // all of it was fought for, and no time was counted twice
    CHECK(ours + theirs > 0.9);
    CHECK(ours + theirs <= 1);
    return ours;
}

} // namespace

TEST_CASE("five processes beside five redis-py workers that poll get their share of a pool", "[redis]")
{
    // two thirds of half the slot time
    CHECK(share_beside_redis_py(5, soak_time(15s)) >= 1. / 3);
}

TEST_CASE("a process alone beside five redis-py workers that poll gets its share of a pool", "[redis]")
{
    // A third of what one of six workers gets on average: redis-py asks twice as often, and its releases announce
    // nothing.
    CHECK(share_beside_redis_py(1, soak_time(30s)) >= 1. / 18);
}

} // namespace tenure::test
