// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A burst of acquisitions beside held leases (F1, F2).
#include "harness/redis_server.hpp"
#include "system/support/running_store_test.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

using Acquired = std::future<std::tuple<error_code, Lease>>;

constexpr auto ttl = 3s;

std::vector<Acquired> acquire_many(RunningStore const& running, std::string const& prefix, std::size_t count)
{
    std::vector<Acquired> acquired;
    acquired.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        acquired.push_back(
            running.lock(prefix + std::to_string(i), ttl).async_acquire(AcquireOptions{.wait = 30s}, as_future));
    return acquired;
}

std::vector<Lease> granted(std::vector<Acquired> acquired)
{
    std::vector<Lease> leases;
    for (auto& each : acquired) {
        auto [error, lease] = within(40s, std::move(each));
        REQUIRE_FALSE(error);
        leases.push_back(std::move(lease));
    }
    return leases;
}

bool all_valid(std::vector<Lease> const& leases)
{
    return std::ranges::all_of(leases, [](Lease const& lease) { return lease.valid(); });
}

/** How often the server was asked to set a key. */
std::size_t sets_of(RedisClient& redis)
{
    auto const text = redis.call("INFO", "commandstats").text;
    auto const at = text.find("cmdstat_set:calls=");
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + 18));
}

} // namespace

TEST_CASE("10,000 acquisitions at once are granted beside held leases, each by one claim", "[integration]")
{
    require_redis();
    constexpr std::size_t held_before = 300;
    constexpr std::size_t burst = 10'000;
    RedisServer server;
    auto redis = server.client();
    RunningStore running{server.url()};
    auto const held = granted(acquire_many(running, "held:", held_before));
    auto const leases = granted(acquire_many(running, "burst:", burst));
    CHECK(all_valid(held));
    CHECK(all_valid(leases));
    // tokens are drawn by scripts, which set their counter
    auto const claims = sets_of(redis);
    CHECK(claims >= held_before + burst);
    CHECK(claims < (held_before + burst) * 11 / 10);
    auto const statistics = running.store().statistics();
    CHECK(statistics.renewals_failed == 0);
    CHECK(statistics.lost[CancelReason::expired] == 0);
}

TEST_CASE_METHOD(
    RunningStoreTest, "a burst during a short pause of the server loses no lease and no claim", "[integration]")
{
    auto const held = granted(acquire_many(running, "held:", 300));
    server.pause();
    auto acquired = acquire_many(running, "burst:", 3'000);
    std::this_thread::sleep_for(ttl / 4);
    server.resume();
    auto const leases = granted(std::move(acquired));
    CHECK(all_valid(held));
    CHECK(all_valid(leases));
}
