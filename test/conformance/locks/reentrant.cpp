// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A re-entrant lock on every store.
#include "conformance/locks/programs.hpp"

#include <tenure/errc.hpp>
#include <tenure/holder.hpp>
#include <tenure/reentrant_lock.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** One program with a holder of its own. */
struct Worker {
    Worker(Programs& programs, std::string name, std::chrono::milliseconds ttl = 30s)
        : store(programs.open(std::move(name)))
        , lock(store, {.key = programs.key("stock"), .ttl = ttl})
    {
    }

    void ask()
    {
        lock.async_acquire(holder, 20s, [this](error_code error, ReentrantLease hold) {
            errors.push_back(error);
            if (!hold.empty())
                holds.push_back(std::move(hold));
        });
    }

    Store store;
    ReentrantLock lock;
    Holder holder;
    std::vector<error_code> errors;
    std::vector<ReentrantLease> holds;
};

} // namespace

TEST_CASE("all Holds of a holder are one lease, and the key is free after the last of them", "[reentrant]")
{
    Programs programs;
    Worker first(programs, "first");
    Worker second(programs, "second");
    first.ask();
    first.ask();
    programs.run_until([&] { return first.holds.size() == 2; });
    first.ask();
    programs.run_until([&] { return first.holds.size() == 3; });
    auto const token = first.holds.front().fencing_token();
    for (auto const& hold : first.holds) {
        CHECK(hold.fencing_token() == token);
        CHECK(hold.depth() == 3);
        CHECK(hold.valid());
    }
    CHECK(first.store.statistics().acquired == 1);
    second.ask();
    std::vector<ReleaseOutcome> outcomes;
    for (auto& hold : first.holds) {
        programs.run_for(100ms);
        CHECK(second.holds.empty());
        hold.async_release([&](error_code, ReleaseOutcome outcome) { outcomes.push_back(outcome); });
    }
    programs.run_until([&] { return !second.holds.empty() && outcomes.size() == 3; });
    CHECK(outcomes == std::vector{ReleaseOutcome::still_held, ReleaseOutcome::still_held, ReleaseOutcome::released});
    CHECK(second.holds.front().fencing_token() > token);
}

TEST_CASE("a holder that acquires a lock right after its last release gets another lease", "[reentrant]")
{
    Programs programs;
    Worker worker(programs, "worker");
    worker.ask();
    programs.run_until([&] { return !worker.holds.empty(); });
    auto const token = worker.holds.front().fencing_token();
    worker.holds.clear();
    std::optional<error_code> tried;
    worker.lock.async_try_acquire(worker.holder, [&](error_code error, std::optional<ReentrantLease> hold) {
        tried = error;
        if (hold)
            worker.holds.push_back(std::move(*hold));
    });
    programs.run_until([&] { return tried.has_value(); });
    REQUIRE(worker.holds.size() == 1);
    CHECK(worker.holds.front().fencing_token() > token);
}

TEST_CASE("a loss reaches all Holds, and the holder begins anew when they are gone", "[reentrant]")
{
    Programs programs;
    // the evicted key becomes free when its ttl is over
    Worker worker(programs, "worker", std::max<std::chrono::milliseconds>(programs.subject().short_ttl(), 3s));
    worker.ask();
    worker.ask();
    programs.run_until([&] { return worker.holds.size() == 2; });
    std::optional<error_code> evicted;
    worker.store.async_evict(
        {.range = worker.lock.range(), .owner = worker.holds.front().owner()}, "test",
        [&](error_code error, std::chrono::milliseconds) { evicted = error; });
    programs.run_until([&] { return evicted.has_value(); });
    REQUIRE(evicted == error_code());
    std::optional<error_code> renewed;
    worker.holds.front().async_renew([&](error_code error) { renewed = error; });
    programs.run_until([&] { return renewed.has_value(); });
    CHECK(renewed == make_error_code(errc::lease_lost));
    for (auto const& hold : worker.holds) {
        CHECK_FALSE(hold.valid());
        CHECK(hold.token().reason() == CancelReason::not_owner);
    }
    worker.holds.pop_back();
    worker.ask();
    programs.run_until([&] { return worker.errors.size() == 3; });
    CHECK(worker.errors.back() == make_error_code(errc::lease_lost));
    worker.holds.clear();
    worker.ask();
    programs.run_until([&] { return worker.errors.size() == 4; });
    CHECK_FALSE(worker.errors.back());
    REQUIRE(worker.holds.size() == 1);
    CHECK(worker.holds.front().valid());
}

} // namespace tenure::test
