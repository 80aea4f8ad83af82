// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// How long the store may be unavailable: at every phase of the renewal cycle, in virtual time.
#include <tenure/lock.hpp>
#include <tenure/testing.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace
{

using namespace std::chrono_literals;
using namespace tenure;
using std::chrono::milliseconds;
using testing::SimulatedStore;
using testing::VirtualTime;

/** The behaviour of the store while it is unavailable. */
enum class Outage {
    /// requests fail at once, and when it is back the clients know
    refused,
    /// requests take effect, answers are lost
    unanswered
};

void set(SimulatedStore& simulated, Outage outage, bool unavailable)
{
    if (outage == Outage::refused)
        simulated.set_reachable(!unavailable);
    else
        simulated.set_answers_lost(unavailable);
}

/** Whether a lease that was granted `phase` ago outlives the outage. Its jitter differs from one grant to the next. */
bool outlives(LockConfig const& config, Outage outage, milliseconds phase, milliseconds duration)
{
    VirtualTime time;
    SimulatedStore simulated(time);
    Lock const lock(simulated.open(), config);
    Lease lease;
    lock.async_acquire([&](error_code error, Lease granted) {
        REQUIRE_FALSE(error);
        lease = std::move(granted);
    });
    time.run_for(phase);
    REQUIRE(lease.state() == LeaseState::held);
    set(simulated, outage, true);
    time.run_for(duration);
    set(simulated, outage, false);
    time.run_for(config.ttl);
    return lease.state() == LeaseState::held;
}

milliseconds tolerated_outage(LockConfig const& config)
{
    VirtualTime time;
    return Lock(SimulatedStore(time).open(), config).tolerated_outage();
}

LockConfig with(milliseconds ttl, LeaseOptions const& options = {})
{
    return {.key = "key", .ttl = ttl, .lease = options};
}

} // namespace

TEST_CASE("the outage that is tolerated is somewhat less than half of the ttl, as documented")
{
    // README.md, docs/users/operations.md
    CHECK(tolerated_outage(with(1s)) == 463ms);
    CHECK(tolerated_outage(with(5s)) == 2'357ms);
    CHECK(tolerated_outage(with(10s)) == 4'723ms);
    CHECK(tolerated_outage(with(30s)) == 14'190ms);
}

TEST_CASE("an outage that is tolerated never costs a lease, whenever it begins")
{
    auto const outage = GENERATE(Outage::refused, Outage::unanswered);
    auto const config = GENERATE(
        with(100ms), with(1s), with(5s), with(5s, {.notice = 1600ms}), with(5s, {.renew_interval = 500ms}),
        with(5s, {.renew_interval = 3s}));
    auto const tolerated = tolerated_outage(config);
    CAPTURE(outage, config.ttl, config.lease.notice, config.lease.renew_interval, tolerated);
    REQUIRE(tolerated > 0ms);
    // three cycles of renewal, whose lengths differ by their jitter
    int lost = 0;
    for (auto phase = 1ms; phase < 3 * config.ttl / 2; phase += config.ttl / 50)
        lost += outlives(config, outage, phase, tolerated) ? 0 : 1;
    // and around the first renewal, where the outage is worst
    auto const interval = config.lease.renew_interval.value_or(config.ttl / 3);
    for (auto phase = interval - 3ms; phase < interval + 3ms; phase += 1ms)
        lost += outlives(config, outage, phase, tolerated) ? 0 : 1;
    CHECK(lost == 0);
}

TEST_CASE("an outage that is longer by a third costs a lease where it begins right before a renewal")
{
    auto const outage = GENERATE(Outage::refused, Outage::unanswered);
    auto const ttl = GENERATE(1s, 5s, 30s);
    auto const config = with(ttl);
    CAPTURE(outage, ttl);
    CHECK_FALSE(outlives(config, outage, config.ttl / 3 - 1ms, tolerated_outage(config) * 13 / 10));
}

TEST_CASE("no outage is tolerated where the library does not renew, or the first failure ends the lease")
{
    CHECK(tolerated_outage(with(5s, {.renewal = Renewal::manual})) == 0ms);
    CHECK(tolerated_outage(with(5s, {.cancel_when = CancelWhen::first_failed_renewal})) == 0ms);
}

TEST_CASE("a lease with a shorter ttl than its lock renews as often as that allows")
{
    VirtualTime time;
    SimulatedStore simulated(time);
    Lock const lock(simulated.open(), with(10s, {.renew_interval = 6s}));
    Lease lease;
    lock.async_acquire([&](error_code, Lease granted) { lease = std::move(granted); });
    time.run_for(10ms);
    lease.async_renew(1s, [](error_code error) { CHECK_FALSE(error); });
    time.run_for(30s);
    CHECK(lease.valid());
    CHECK(lease.ttl() == 1s);
}
