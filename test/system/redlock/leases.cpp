// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A majority of real servers, some of which stop, or lose what they held.
#include "harness/auditor.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

constexpr auto ttl = 1500ms;

/** Several servers, and a store over them. */
struct Servers {
    explicit Servers(std::size_t count)
    {
        std::string url = "redlock://";
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(std::make_unique<RedisServer>());
            url += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(all.back()->port());
        }
        running.emplace(url);
    }

    RedisServer& operator[](std::size_t index) { return *all[index]; }

    std::vector<std::unique_ptr<RedisServer>> all;
    std::optional<RunningStore> running;
};

/** Waits until a renewal has just succeeded. */
[[nodiscard]] bool renewed(tenure::LeaseLike auto const& lease)
{
    auto const before = lease.valid_until();
    return eventually([&] { return lease.valid_until() > before; }, 10s, 1ms);
}

} // namespace

TEST_CASE("a minority of stopped servers costs no lease and prevents no acquisition", "[redlock]")
{
    require_redis();
    Servers servers(5);
    std::vector<Lease> held;
    for (int i = 0; i < 20; ++i)
        held.push_back(RunningStore::acquire(servers.running->lock("job:" + std::to_string(i), ttl)));
    servers[1].pause();
    servers[3].pause();
    for (int round = 0; round < 5; ++round)
        REQUIRE(renewed(held.back()));
    for (auto const& lease : held) {
        CHECK(lease.valid());
        CHECK_FALSE(lease.token().cancelled());
    }
    auto late = RunningStore::acquire(servers.running->pool(3, ttl));
    CHECK(late.id() == 0);
    CHECK(late.fencing_token() > 0);
    CHECK(RunningStore::release(late) == ReleaseOutcome::released);
    // others are kept out by the majority alone
    CHECK(RunningStore::acquire_error(servers.running->lock("job:0", ttl), {.wait = 300ms}) == errc::timed_out);
    servers[1].resume();
    servers[3].resume();
    for (auto& lease : held)
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    // keys that the stopped servers granted meanwhile are also given back
    CHECK(eventually([&] {
        std::size_t keys = 0;
        for (auto const& server : servers.all)
            for (auto const& key : server->client().keys("*"))
                keys += key.ends_with(":fence") || key.ends_with(":watched") ? 0U : 1U;
        return keys == 0;
    }));
}

TEST_CASE("where a majority stops every token fires before its lease ends in the store", "[redlock]")
{
    require_redis();
    Servers servers(3);
    auto const lease = RunningStore::acquire(servers.running->lock("job", ttl));
    FiredAt fired(lease.token());
    REQUIRE(renewed(lease));
    auto const valid_until = nanoseconds(lease.valid_until());
    servers[0].pause();
    servers[2].pause();
    auto const told = fired.wait(10s);
    REQUIRE(told);
    CHECK(lease.token().reason() == CancelReason::expired);
    CHECK(*told < valid_until);
    // nothing is granted, and every server has its say
    auto const error = RunningStore::acquire_error(servers.running->lock("other", ttl), {.wait = 500ms});
    CHECK(error == errc::store_unavailable);
    auto const words = servers.running->store().diagnostics().last_detail;
    CHECK_THAT(words, ContainsSubstring("2 of 3 servers are needed"));
    CHECK_THAT(words, ContainsSubstring(std::to_string(servers[0].port())));
    servers[0].resume();
    servers[2].resume();
    auto again = RunningStore::acquire(servers.running->lock("other", ttl));
    CHECK(again.valid());
    CHECK(RunningStore::release(again) == ReleaseOutcome::released);
}

TEST_CASE("a server that was restarted without its data gets its leases and tokens back", "[redlock]")
{
    require_redis();
    Servers servers(3);
    auto lease = RunningStore::acquire(servers.running->lock("job", ttl));
    auto const owner = lease.owner();
    CHECK(eventually([&] { return servers[2].client().get("job") == owner; }));
    servers[2].kill();
    REQUIRE(renewed(lease));
    servers[2].start();
    CHECK(eventually([&] { return servers[2].client().get("job") == owner; }, 10s));
    CHECK(eventually(
        [&] { return servers[2].client().get("{job}:fence") == std::to_string(lease.fencing_token()); }, 10s));
    // now the others may go: two of three hold it
    servers[0].pause();
    REQUIRE(renewed(lease));
    servers[0].resume();
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE("fencing tokens of a majority increase, whichever servers grant", "[redlock]")
{
    require_redis();
    Servers servers(3);
    std::uint64_t last = 0;
    for (std::size_t round = 0; round < 9; ++round) {
        auto& away = servers[round % 3];
        away.pause();
        auto lease = RunningStore::acquire(servers.running->lock("job", ttl));
        CHECK(lease.fencing_token() > last);
        last = lease.fencing_token();
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        away.resume();
    }
}
