// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What waiting for replicas is worth: the master of a group is killed again and again, right after its replicas, or one
// of them, were cut off. An auditor counts the keys that two held at a time. TENURE_FAILOVERS sets how many failovers
// each case makes (1 unless set); more than a few take longer than ctest allows.
#include "harness/auditor.hpp"
#include "harness/eventually.hpp"
#include "harness/scratch_directory.hpp"
#include "harness/sentinel_group.hpp"
#include "integration/running_store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

constexpr std::uint32_t held_keys = 50;
constexpr std::uint32_t contended_keys = 40;
constexpr int claimers = 16;
// a lost lease is noticed with its next renewal, a third of this after the claim: acquiring must have gone on by then
constexpr auto ttl = 60s;
constexpr std::uint64_t nobody_waits = std::numeric_limits<std::uint64_t>::max();

int failovers_wanted()
{
    char const* const count = std::getenv("TENURE_FAILOVERS");
    return count != nullptr ? std::max(std::atoi(count), 1) : 1;
}

/** What runs beside the failovers, on the store's own thread. */
struct Load {
    Load(std::string const& url, std::string const& audit_file)
        : running(url)
        , audit(Auditor::create(audit_file, held_keys + contended_keys))
        , held(running.store(), {.prefix = "held:", .size = held_keys, .ttl = ttl})
        , contended(running.store(), {.prefix = "contended:", .size = contended_keys, .ttl = ttl})
    {
    }

    RunningStore running;
    Auditor audit;
    SlotPool held;
    SlotPool contended;
    /// of the contended pool
    std::atomic<std::uint64_t> grants = 0;
    /// the grant whose instant is asked for, and that instant (ns of CLOCK_BOOTTIME); 0: not granted yet
    std::atomic<std::uint64_t> awaited_grant = nobody_waits;
    std::atomic<std::int64_t> awaited_at = 0;
    /// of the held pool: proven lost; not renewed in time, which a long absence of replicas costs
    std::atomic<std::uint64_t> held_lost = 0;
    std::atomic<std::uint64_t> held_expired = 0;
    std::atomic<std::uint64_t> not_replicated = 0;
    std::atomic<bool> hold_long = false;
    std::atomic<bool> stopped = false;
    std::atomic<int> under_way = 0;
};

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

/** Relies on the slot for so long, or until its token fires, and lets the auditor know all the time. */
asio::awaitable<void> rely_on(Load& load, Slot& slot, std::uint32_t first_cell, std::chrono::milliseconds time)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto const end = Clock::now() + time;
    auto const entry = load.audit.enter(first_cell + slot.id(), nanoseconds(slot.valid_until()), slot.fencing_token());
    while (!load.stopped && Clock::now() < end && !slot.token().cancelled()) {
        load.audit.extend(entry, nanoseconds(slot.valid_until()));
        timer.expires_after(20ms);
        co_await timer.async_wait(awaited);
    }
    load.audit.leave(entry);
}

asio::awaitable<void> keep(Load& load)
{
    while (!load.stopped) {
        auto result = co_await load.held.async_acquire({.wait = 30s}, awaited);
        auto& [error, slot] = result;
        if (error)
            continue;
        co_await rely_on(load, slot, 0, std::chrono::hours{24});
        if (slot.token().cancelled())
            ++(slot.token().reason() == LossReason::lost ? load.held_lost : load.held_expired);
        co_await slot.async_release(awaited);
    }
    --load.under_way;
}

/** Slots are given back at once, so that claims are always under way; while `hold_long` every other one is held past
 * the failover. */
asio::awaitable<void> contend(Load& load, unsigned seed)
{
    std::mt19937 random(seed);
    while (!load.stopped) {
        auto result = co_await load.contended.async_acquire({.wait = 2s}, awaited);
        auto& [error, slot] = result;
        if (error == errc::not_replicated)
            ++load.not_replicated;
        if (error)
            continue;
        if (++load.grants >= load.awaited_grant && load.awaited_at == 0)
            load.awaited_at = boottime_ns();
        co_await rely_on(load, slot, held_keys, load.hold_long && random() % 2 == 0 ? 25s : 20ms);
        co_await slot.async_release(awaited);
    }
    --load.under_way;
}

void start(Load& load)
{
    auto const executor = load.running.executor();
    for (std::uint32_t i = 0; i < held_keys; ++i, ++load.under_way)
        asio::co_spawn(executor, keep(load), asio::detached);
    for (unsigned i = 0; i < claimers; ++i, ++load.under_way)
        asio::co_spawn(executor, contend(load, i), asio::detached);
}

/** Both replicas, or the first, hear nothing more, and what is on its way to them is lost; the other one connects anew.
 */
void cut_off(SentinelGroup& group, RedisServer const& master, bool both)
{
    for (auto const& server : group.servers()) {
        if (server.get() == &master)
            continue;
        server->pause();
        if (!both)
            break;
    }
    group.server(group.index_of(master.port())).client().call("CLIENT", "KILL", "TYPE", "replica");
}

void resume_all(SentinelGroup& group, RedisServer const& master)
{
    for (auto const& server : group.servers())
        if (server.get() != &master)
            server->resume();
}

/** A failover with all replicas asked for takes half of a ttl: what was not renewed since the last one would end by the
 * next. */
bool all_are_renewed(Load const& load)
{
    for (std::uint32_t cell = 0; cell < held_keys; ++cell) {
        auto const holding = load.audit.occupant(cell);
        if (!holding || holding->valid_until - boottime_ns() < std::chrono::nanoseconds{ttl * 3 / 5}.count())
            return false;
    }
    return true;
}

struct Result {
    int failovers = 0;
    std::size_t held_twice = 0;
    std::size_t tokens_out_of_order = 0;
    std::uint64_t grants = 0;
    std::uint64_t held_lost = 0;
    std::uint64_t held_expired = 0;
    std::uint64_t not_replicated = 0;
    /// from the kill to the second grant after it
    std::vector<std::int64_t> pauses_ms;
};

std::size_t out_of_order(std::vector<Holding> holdings)
{
    std::ranges::stable_sort(holdings, {}, &Holding::entered);
    std::map<std::uint32_t, std::uint64_t> last;
    std::size_t count = 0;
    for (auto const& holding : holdings) {
        if (holding.fencing_token <= last[holding.cell])
            ++count;
        last[holding.cell] = std::max(last[holding.cell], holding.fencing_token);
    }
    return count;
}

/** One failover in the middle of the load. Returns how long nothing was acquired. */
std::int64_t fail_over(SentinelGroup& group, Load& load, bool cut_both)
{
    auto& master = group.master();
    cut_off(group, master, cut_both);
    // the one that was only disconnected is back after a second at most
    if (!cut_both)
        std::this_thread::sleep_for(2s);
    // claims and renewals that the replicas, or one of them, never hear of
    load.hold_long = true;
    std::this_thread::sleep_for(400ms);
    master.kill();
    auto const killed = boottime_ns();
    load.hold_long = false;
    // one may have been granted in this moment; the second after it comes from the new master
    load.awaited_at = 0;
    load.awaited_grant = load.grants + 2;
    resume_all(group, master);
    group.wait_for_another_master(master);
    // with all replicas asked for, only its return makes the group whole enough
    master.start();
    REQUIRE(eventually([&] { return load.awaited_at != 0; }, 60s));
    group.wait_until_whole();
    load.awaited_grant = nobody_waits;
    return (load.awaited_at - killed) / 1'000'000;
}

Result run(unsigned replicas)
{
    SentinelGroup group;
    ScratchDirectory directory;
    auto url = group.url();
    if (replicas > 0)
        url += "?replicas=" + std::to_string(replicas) + "&replicas_within=100ms";
    Load load{url, directory.file("audit")};
    start(load);
    Result result;
    for (; result.failovers < failovers_wanted(); ++result.failovers) {
        auto const before = load.grants.load();
        REQUIRE(eventually([&] { return load.grants > before + 100 && all_are_renewed(load); }, 60s));
        result.pauses_ms.push_back(fail_over(group, load, result.failovers % 2 == 0));
    }
    load.stopped = true;
    REQUIRE(eventually([&] { return load.under_way == 0; }, 60s));
    for (auto const& violation : load.audit.violations())
        UNSCOPED_INFO(violation.describe());
    result.held_twice = load.audit.violations().size();
    result.tokens_out_of_order = out_of_order(load.audit.holdings());
    result.grants = load.grants;
    result.held_lost = load.held_lost;
    result.held_expired = load.held_expired;
    result.not_replicated = load.not_replicated;
    std::ranges::sort(result.pauses_ms);
    WARN(
        "replicas = " << replicas << ": " << result.failovers << " failovers, " << result.grants << " grants, "
                      << result.held_twice << " times held twice while valid, tokens out of order "
                      << result.tokens_out_of_order << "; acquiring went on after "
                      << result.pauses_ms[result.pauses_ms.size() / 2] << " ms (median), " << result.pauses_ms.back()
                      << " ms (longest); of the held leases " << result.held_lost << " were lost and "
                      << result.held_expired
                      << " expired; acquisitions that ended with not_replicated: " << result.not_replicated);
    return result;
}

} // namespace

TEST_CASE("no failover gives a lease twice that all replicas acknowledged", "[sentinel][replicas]")
{
    require_redis();
    auto const result = run(2);
    CHECK(result.held_twice == 0);
    CHECK(result.tokens_out_of_order == 0);
    CHECK(result.held_lost == 0);
}

TEST_CASE("fencing tokens increase over failovers where one of two replicas acknowledged", "[sentinel][replicas]")
{
    require_redis();
    CHECK(run(1).tokens_out_of_order == 0);
}

TEST_CASE("fencing tokens increase over failovers where no replica acknowledged", "[sentinel][replicas]")
{
    require_redis();
    CHECK(run(0).tokens_out_of_order == 0);
}
