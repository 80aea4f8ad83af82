// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Fair locks, read-write locks and semaphores among programs, on every store that keeps places.
#include "conformance/locks/programs.hpp"

#include <tenure/election.hpp>
#include <tenure/errc.hpp>
#include <tenure/holder.hpp>
#include <tenure/lock.hpp>
#include <tenure/multi_lock.hpp>
#include <tenure/read_write_lock.hpp>
#include <tenure/reentrant_lock.hpp>
#include <tenure/semaphore.hpp>
#include <tenure/view.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** Three programs on one store, and their acquisitions in the order of their ends. */
struct Sharers {
    Programs programs;
    std::vector<Store> stores;
    std::chrono::milliseconds ttl = std::max<std::chrono::milliseconds>(programs.subject().short_ttl(), 3s);
    /// numbers of acquisitions
    std::vector<unsigned> granted;
    std::array<std::optional<error_code>, 16> ends;
    std::array<Lease, 16> leases;
    Lifetime lifetime;

    Sharers()
    {
        for (auto const* name : {"anna", "boris", "carla"})
            stores.push_back(programs.open(name));
        if (programs.no_shares() != nullptr)
            SKIP(programs.no_shares());
    }

    [[nodiscard]] Lock fair(std::size_t program) const
    {
        return {stores[program], {.key = programs.key("fair"), .ttl = ttl, .fair = true}};
    }
    [[nodiscard]] ReadWriteLock both(std::size_t program) const
    {
        return {stores[program], {.key = programs.key("both"), .ttl = ttl}};
    }
    [[nodiscard]] Semaphore semaphore(std::size_t program, std::uint32_t permits) const
    {
        return {stores[program], {.key = programs.key("permits"), .permits = permits, .ttl = ttl}};
    }
    template <class Source>
    void begin(unsigned number, Source const& source, AcquireOptions const& options = {.wait = 20s})
    {
        source.async_acquire(options, lifetime.guard([this, number](error_code error, Lease lease) {
            ends.at(number) = error;
            leases.at(number) = std::move(lease);
            if (!error)
                granted.push_back(number);
        }));
    }
    template <class Source>
    void take(unsigned number, Source const& source, AcquireOptions const& options = {.wait = 20s})
    {
        begin(number, source, options);
        programs.run_until([&] { return ends.at(number).has_value(); });
        REQUIRE(*ends.at(number) == error_code());
    }
    /** Begins, and waits until the key has this number of places. */
    template <class Source>
    void wait(unsigned number, Source const& source, std::size_t places, AcquireOptions const& options = {.wait = 20s})
    {
        begin(number, source, options);
        await_places(source.range(), places);
        CHECK_FALSE(ends.at(number));
    }
    void await_places(KeyRangePtr const& range, std::size_t places)
    {
        bool pending = false;
        std::optional<std::size_t> seen;
        programs.run_until([&] {
            if (seen == places)
                return true;
            if (!pending) {
                pending = true;
                stores[0].async_inspect(range, lifetime.guard([&](error_code, std::vector<KeyState> states) {
                    pending = false;
                    seen = states.empty() ? 0 : states.front().places.size();
                }));
            }
            return false;
        });
        programs.run_until([&] { return !pending; });
    }
    void end(unsigned number) { leases.at(number) = Lease(); }
    void run_until_granted(unsigned number)
    {
        programs.run_until([&] { return ends.at(number).has_value(); });
        CHECK(*ends.at(number) == error_code());
    }
};

} // namespace

TEST_CASE("waiters of a fair lock are granted in the order of their programs' places")
{
    Sharers all;
    all.take(0, all.fair(0));
    all.wait(1, all.fair(1), 2);
    all.wait(2, all.fair(2), 3);
    // behind the waiter of its own program
    all.begin(3, all.fair(1));
    for (unsigned const number : {0U, 1U, 2U, 3U}) {
        all.run_until_granted(number);
        all.programs.run_for(30ms);
        CHECK(all.granted.size() == number + 1);
        if (number > 0)
            CHECK(all.leases.at(number).fencing_token() > all.leases.at(number - 1).fencing_token());
        auto const token = all.leases.at(number).fencing_token();
        CHECK(token != 0);
        if (number < 3)
            // keeps the token of the released lease for the comparison
            all.leases.at(number).async_release([](error_code, ReleaseOutcome) {});
    }
    CHECK(all.granted == std::vector{0U, 1U, 2U, 3U});
}

TEST_CASE("a fair lock of a program that ends goes to the next one")
{
    Sharers all;
    all.take(0, all.fair(0));
    all.wait(1, all.fair(1), 2, {.wait = 200ms});
    all.wait(2, all.fair(2), 3);
    all.programs.run_until([&] { return all.ends[1].has_value(); });
    CHECK(*all.ends[1] == errc::timed_out);
    all.await_places(all.fair(0).range(), 2);
    all.end(0);
    all.run_until_granted(2);
}

TEST_CASE("readers share a read-write lock, and a writer is alone")
{
    Sharers all;
    all.take(0, all.both(0).read_lock());
    all.take(1, all.both(1).read_lock());
    all.wait(2, all.both(2).write_lock(), 3);
    all.wait(3, all.both(0).read_lock(), 4);
    all.end(0);
    all.programs.run_for(50ms);
    CHECK_FALSE(all.ends[2]);
    auto const reader = all.leases[1].fencing_token();
    all.end(1);
    all.run_until_granted(2);
    CHECK(all.leases[2].fencing_token() > reader);
    all.programs.run_for(50ms);
    CHECK_FALSE(all.ends[3]);
    all.end(2);
    all.run_until_granted(3);
}

TEST_CASE("the permits of a semaphore are shared, and a large request is not overtaken")
{
    Sharers all;
    all.take(0, all.semaphore(0, 5), {.wait = 5s, .permits = 2});
    all.take(1, all.semaphore(1, 5), {.wait = 5s, .permits = 2});
    all.wait(2, all.semaphore(2, 5), 3, {.wait = 20s, .permits = 5});
    all.begin(3, all.semaphore(0, 5), {.wait = 0ms});
    all.programs.run_until([&] { return all.ends[3].has_value(); });
    CHECK(*all.ends[3] == errc::timed_out);
    all.wait(4, all.semaphore(1, 5), 4);
    all.end(0);
    all.programs.run_for(50ms);
    CHECK_FALSE(all.ends[2]);
    all.end(1);
    all.run_until_granted(2);
    CHECK_FALSE(all.ends[4]);
    all.end(2);
    all.run_until_granted(4);
}

TEST_CASE("a view follows the places of a semaphore")
{
    Sharers all;
    View const view(all.stores[2], all.semaphore(2, 2).range(), {.refresh = 200ms});
    all.take(0, all.semaphore(0, 2));
    auto const sees = [&](std::size_t places, std::size_t holding) {
        auto const snapshot = view.snapshot();
        return !snapshot.keys.empty() && snapshot.keys.front().places.size() == places &&
               std::ranges::count(snapshot.keys.front().places, true, &Place::holds) ==
                   static_cast<std::ptrdiff_t>(holding);
    };
    all.programs.run_until([&] { return sees(1, 1); });
    auto const before = view.snapshot().version;
    all.wait(1, all.semaphore(1, 2), 2, {.wait = 20s, .permits = 2});
    all.programs.run_until([&] { return sees(2, 1); });
    CHECK(view.snapshot().version > before);
    all.end(0);
    all.run_until_granted(1);
    all.programs.run_until([&] { return sees(1, 1); });
}

TEST_CASE("candidates of a fair election lead in their order")
{
    Sharers all;
    auto const election = [&](std::size_t program) {
        return Election(
            all.stores[program], {.name = all.programs.key("office"), .ttl = all.ttl, .refresh = 200ms, .fair = true});
    };
    std::array const elections{election(0), election(1), election(2)};
    auto const campaign = [&](unsigned number) {
        elections.at(number).async_campaign(all.lifetime.guard([&all, number](error_code error, Lease lease) {
            all.ends.at(number) = error;
            all.leases.at(number) = std::move(lease);
            all.granted.push_back(number);
        }));
    };
    for (unsigned const number : {0U, 1U, 2U}) {
        campaign(number);
        all.await_places(elections[0].range(), number + 1);
    }
    for (unsigned const number : {0U, 1U, 2U}) {
        all.run_until_granted(number);
        auto const* const name = number == 0 ? "anna" : number == 1 ? "boris" : "carla";
        all.programs.run_until([&] { return elections[2].leader().name == name; });
        all.end(number);
    }
    CHECK(all.granted == std::vector{0U, 1U, 2U});
}

TEST_CASE("a MultiLock takes a side of a read-write lock with other locks, and refuses one key as two kinds")
{
    Sharers all;
    auto const both = all.both(0);
    CHECK_THROWS_AS(MultiLock({both.read_lock(), both.write_lock()}), std::invalid_argument);
    CHECK_THROWS_AS(
        MultiLock({all.fair(0), Lock(all.stores[0], {.key = all.programs.key("fair"), .ttl = all.ttl})}),
        std::invalid_argument);
    MultiLock const locks({both.read_lock(), all.fair(0)});
    all.take(1, all.both(1).write_lock());
    std::optional<LeaseSet> set;
    locks.async_acquire(20s, all.lifetime.guard([&](error_code error, LeaseSet granted) {
        CHECK_FALSE(error);
        set = std::move(granted);
    }));
    all.programs.run_for(50ms);
    CHECK_FALSE(set);
    all.end(1);
    all.programs.run_until([&] { return set.has_value(); });
    CHECK(set->valid());
    // the lock that it holds beside is another reader's as well
    all.take(2, all.both(2).read_lock());
}

TEST_CASE("a holder nests both sides of a read-write lock, and does not write while it reads")
{
    Sharers all;
    ReentrantLock const reading(all.both(0).read_lock());
    ReentrantLock const writing(all.both(0).write_lock());
    Holder const me;
    std::vector<error_code> ends;
    std::vector<ReentrantLease> holds;
    auto const ask = [&](ReentrantLock const& lock) {
        auto const before = ends.size();
        lock.async_acquire(me, 20s, all.lifetime.guard([&](error_code error, ReentrantLease hold) {
            ends.push_back(error);
            if (!error)
                holds.push_back(std::move(hold));
        }));
        all.programs.run_until([&] { return ends.size() > before; });
        return ends.back();
    };
    REQUIRE(ask(reading) == error_code());
    // another program's writer waits, and the holder reads again nevertheless
    all.wait(1, all.both(1).write_lock(), 2);
    REQUIRE(ask(reading) == error_code());
    CHECK(holds.back().fencing_token() == holds.front().fencing_token());
    CHECK(ask(writing) == errc::would_deadlock);
    auto const reader = holds.front().fencing_token();
    holds.clear();
    all.run_until_granted(1);
    CHECK(all.leases[1].fencing_token() > reader);
    all.end(1);
    REQUIRE(ask(writing) == error_code());
    REQUIRE(ask(reading) == error_code());
    CHECK(holds.back().fencing_token() == holds.front().fencing_token());
    all.wait(2, all.both(2).read_lock(), 2);
    holds.erase(holds.begin());
    all.programs.run_for(50ms);
    CHECK_FALSE(all.ends[2]);
    holds.clear();
    all.run_until_granted(2);
}

TEST_CASE("a MultiLock waits for a fair lock in its place, and holds nothing behind it meanwhile")
{
    Sharers all;
    auto const last = Lock(all.stores[0], {.key = all.programs.key("last"), .ttl = all.ttl, .fair = true});
    MultiLock const locks({last, all.fair(0)});
    all.take(1, all.fair(1));
    all.wait(2, all.fair(2), 2);
    std::optional<LeaseSet> set;
    // a try overtakes no waiter, and leaves no place
    std::optional<bool> tried;
    locks.async_try_acquire(all.lifetime.guard(
        [&](error_code error, std::optional<LeaseSet> granted) { tried = error || granted.has_value(); }));
    all.programs.run_until([&] { return tried.has_value(); });
    CHECK(tried == false);
    all.await_places(all.fair(0).range(), 2);
    all.await_places(last.range(), 0);
    locks.async_acquire(20s, all.lifetime.guard([&](error_code error, LeaseSet granted) {
        CHECK_FALSE(error);
        set = std::move(granted);
    }));
    all.await_places(all.fair(0).range(), 3);
    all.await_places(last.range(), 0);
    all.end(1);
    all.run_until_granted(2);
    all.programs.run_for(50ms);
    CHECK_FALSE(set);
    auto const before = all.leases[2].fencing_token();
    all.end(2);
    all.programs.run_until([&] { return set.has_value(); });
    CHECK(set->fencing_token(all.programs.key("fair")) > before);
    CHECK(set->valid());
}

} // namespace tenure::test
