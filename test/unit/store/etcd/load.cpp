// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A store of etcd under more load than its member can serve at once: bursts of acquisitions beside held leases. In
// virtual time, with a member that executes a number of requests a second.
#include "paced_member.hpp"

#include "harness/immovable.hpp"

#include <tenure/lock.hpp>
#include <tenure/store.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

/** A store of one member, and the leases that its user holds. */
class LoadedStore : Immovable
{
public:
    explicit LoadedStore(std::size_t per_second)
        : member(runtime, per_second)
        , backend(etcd::make_backend(runtime, EtcdConfig{{{"127.0.0.1", 2379}}}, member.streams()))
        , store(std::in_place, runtime, backend, StoreOptions{"worker", {}})
    {
    }
    ~LoadedStore()
    {
        leases.clear();
        store.reset();
        backend->shutdown();
        runtime->run_ready();
        runtime->discard();
        runtime->end_context();
    }

    void acquire(std::string const& prefix, std::size_t count, std::chrono::milliseconds ttl, std::chrono::seconds wait)
    {
        for (std::size_t i = 0; i < count; ++i) {
            Lock const lock(*store, {.key = prefix + std::to_string(i), .ttl = ttl});
            lock.async_acquire(wait, [this](error_code error, Lease lease) {
                ++ended;
                last_error = error ? error : last_error;
                if (!error)
                    leases.push_back(std::move(lease));
            });
        }
    }

    [[nodiscard]] std::size_t lost() const
    {
        return static_cast<std::size_t>(
            std::ranges::count_if(leases, [](Lease const& lease) { return lease.token().cancelled(); }));
    }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    PacedMember member;
    std::shared_ptr<Backend> backend;
    std::optional<Store> store;
    std::vector<Lease> leases;
    std::size_t ended = 0;
    error_code last_error;
};

} // namespace

TEST_CASE("a burst of acquisitions is granted as fast as the member answers, and no held lease is lost", "[etcd]")
{
    struct Case {
        std::size_t per_second;
        std::size_t burst;
        std::chrono::seconds wait;
    };
    constexpr std::size_t held = 100;
    // two requests for each acquisition; renewals need the rest of the time
    for (auto const [per_second, burst, wait] : {Case{50, 800, 60s}, Case{500, 1500, 9s}, Case{5000, 2000, 2s}}) {
        CAPTURE(per_second);
        LoadedStore test(per_second);
        test.acquire("held:", held, 10s, 30s);
        REQUIRE(test.member.run_while_not([&] { return test.leases.size() == held; }, 30s));
        test.acquire("burst:", burst, 10s, wait);
        test.member.run_while_not([&] { return test.ended == held + burst; }, wait + 1s);
        CHECK(test.leases.size() == held + burst);
        CHECK(test.last_error == error_code());
        test.member.run_for(12s);
        CHECK(test.lost() == 0);
        CHECK(test.member.keys() == held + burst);
        // none was granted to an attempt whose grant was thrown away
        CHECK(test.member.executed["lease/grant"] == held + burst);
        CHECK(test.member.executed["lease/revoke"] == 0);
        CHECK(test.store->statistics().min_renewal_margin >= 3333ms);
    }
}

TEST_CASE("more demand than a member can serve does not lower what it serves", "[etcd]")
{
    std::vector<std::size_t> granted;
    for (std::size_t const demand : {800U, 2000U, 8000U}) {
        LoadedStore test(500);
        test.acquire("burst:", demand, 60s, 5s);
        test.member.run_for(6s);
        CHECK(test.ended == demand);
        granted.push_back(test.leases.size());
        // nothing is left of the acquisitions that were not granted
        test.member.run_for(2s);
        CHECK(test.member.keys() == test.leases.size());
    }
    // 5 s of 500 requests, two for each
    CHECK(granted[0] == 800);
    CHECK(granted[1] >= 1200);
    CHECK(granted[2] >= 1200);
}

TEST_CASE("an acquisition that ends unsent says how many were ahead of it", "[etcd]")
{
    LoadedStore test(50);
    test.acquire("burst:", 1000, 60s, 2s);
    // claims that have begun end later, at 2 s
    test.member.run_for(1995ms);
    CHECK(test.store->diagnostics().last_detail.find("claims of this process were ahead of it") != std::string::npos);
}

TEST_CASE("renewals that are due together share requests", "[etcd]")
{
    LoadedStore test(5000);
    test.acquire("held:", 1000, 30s, 10s);
    REQUIRE(test.member.run_while_not([&] { return test.leases.size() == 1000; }, 10s));
    test.member.executed.clear();
    test.member.run_for(30s);
    CHECK(test.lost() == 0);
    auto const renewed = test.store->statistics().renewals;
    CHECK(renewed >= 2000);
    CHECK(test.member.executed["lease/keepalive"] * 2 < renewed);
}

TEST_CASE("a lost key among many that are proven together is the only one that is lost", "[etcd]")
{
    for (bool const taken : {false, true}) {
        CAPTURE(taken);
        LoadedStore test(5000);
        test.acquire("held:", 300, 10s, 10s);
        REQUIRE(test.member.run_while_not([&] { return test.leases.size() == 300; }, 10s));
        // "held:7"
        if (taken)
            test.member.take("aGVsZDo3");
        else
            test.member.remove("aGVsZDo3");
        test.member.run_for(5s);
        CHECK(test.lost() == 1);
        for (auto const& lease : test.leases)
            CHECK(lease.token().cancelled() == (lease.key() == "held:7"));
    }
}

TEST_CASE("a member that falls silent under load loses no lease if it answers again in time", "[etcd]")
{
    LoadedStore test(2000);
    test.acquire("held:", 500, 10s, 10s);
    REQUIRE(test.member.run_while_not([&] { return test.leases.size() == 500; }, 10s));
    test.acquire("burst:", 3000, 10s, 20s);
    test.member.run_for(500ms);
    auto const connections = test.member.connections;
    test.member.silent = true;
    test.member.run_for(4s);
    // one connection at a time asks whether it answers again
    CHECK(test.member.connections - connections <= 8);
    test.member.silent = false;
    CHECK(test.member.run_while_not([&] { return test.ended == 3500; }, 20s));
    CHECK(test.leases.size() == 3500);
    CHECK(test.lost() == 0);
}
