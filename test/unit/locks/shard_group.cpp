// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ShardGroup in virtual time: members of several processes over one simulated store.
#include "unit/code_of.hpp"
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/error.hpp>
#include <tenure/shard_group.hpp>
#include <tenure/testing.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;
using namespace std::chrono_literals;
using CancelType = asio::cancellation_type;
using testing::SimulatedStore;
using testing::VirtualTime;

namespace
{

/** How a work reacts to its cancellation. */
enum class Manners { ends_on_total, ends_on_terminal, ignores_all };

struct World;

/** One process with a member of the group. */
struct Process {
    Process(World& in, std::string const& name, ShardGroupConfig config);
    Process(Process const&) = delete;
    Process& operator=(Process const&) = delete;

    void run();
    void cancel(CancelType type) { signal.emit(type); }
    asio::awaitable<void> work(Shard& shard, TaskGroup& tasks);
    [[nodiscard]] std::size_t count() const { return group.owned().size(); }

    World& world;
    std::map<ShardEvent::Kind, unsigned> events;
    Store store;
    ShardGroup group;
    asio::cancellation_signal signal;
    Manners manners = Manners::ends_on_total;
    /// works return or throw after this time
    std::optional<Clock::duration> returns_after;
    bool throws = false;
    bool hangs = true;
    /// works that run, by shard
    std::map<std::uint32_t, Shard*> works;
    std::vector<CancelReason> reasons;
    bool was_valid = true;
    bool ended = false;
    std::exception_ptr failure;
};

struct World {
    VirtualTime time;
    SimulatedStore simulated{time};
    ShardGroupConfig config{.name = "orders", .shards = 8, .ttl = 10s};
    std::vector<std::unique_ptr<Process>> processes;
    bool double_owner = false;

    Process& join()
    {
        auto const name = "worker-" + std::to_string(processes.size());
        processes.push_back(std::make_unique<Process>(*this, name, config));
        processes.back()->run();
        return *processes.back();
    }
    void began(Process const& process, std::uint32_t shard)
    {
        for (auto const& other : processes)
            if (other.get() != &process && other->works.contains(shard) && other->works.at(shard)->valid())
                double_owner = true;
    }
    ~World()
    {
        for (auto const& process : processes) {
            process->hangs = false;
            process->cancel(CancelType::terminal);
        }
        time.run_for(60s);
    }
};

Process::Process(World& in, std::string const& name, ShardGroupConfig with)
    : world(in)
    , store(in.simulated.open(name))
    , group(store, [&] {
        with.on_event = [this](ShardEvent const& event) { ++events[event.kind]; };
        return with;
    }())
{
}

void Process::run()
{
    async_run(
        group, [this](Shard& shard, TaskGroup& tasks) { return work(shard, tasks); },
        asio::bind_cancellation_slot(
            signal.slot(), asio::bind_executor(world.time.get_executor(), [this](std::exception_ptr thrown) {
                ended = true;
                failure = std::move(thrown);
            })));
}

asio::awaitable<void> Process::work(Shard& shard, TaskGroup&)
{
    auto const number = shard.number();
    CHECK_FALSE(works.contains(number));
    CHECK(shard.valid());
    CHECK(shard.fencing_token() > 0);
    world.began(*this, number);
    works[number] = &shard;
    if (manners == Manners::ends_on_total)
        co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    if (manners == Manners::ignores_all)
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    auto const time = returns_after.value_or(24h);
    do {
        auto const step = std::min<Clock::duration>(time, manners == Manners::ignores_all ? 100ms : 24h);
        auto const error = co_await world.time.async_wait_for(step, asio::as_tuple(asio::deferred));
        static_cast<void>(error);
    } while (manners == Manners::ignores_all && hangs);
    reasons.push_back(shard.token().reason());
    was_valid = was_valid && shard.valid();
    works.erase(number);
    if (throws)
        throw std::runtime_error("the work failed");
}

} // namespace

TEST_CASE("the only member of a group owns all shards, and runs their works")
{
    World world;
    auto& member = world.join();
    world.time.run_for(3s);
    // it waits for others first
    CHECK(member.count() == 0);
    world.time.run_for(2s);
    CHECK(member.group.owned() == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(member.group.members() == std::vector<std::uint32_t>{0});
    CHECK(member.works.size() == 8);
    CHECK(member.works.at(3)->key() == "orders:shard:3");
    SECTION("for as long as the store answers")
    {
        world.time.run_for(10min);
        CHECK(member.works.size() == 8);
        CHECK(member.events[ShardEvent::Kind::acquired] == 8);
    }
    SECTION("and through a short outage")
    {
        world.simulated.set_reachable(false);
        world.time.run_for(4s);
        world.simulated.set_reachable(true);
        world.time.run_for(60s);
        CHECK(member.events[ShardEvent::Kind::acquired] == 8);
        CHECK(member.events[ShardEvent::Kind::lost] == 0);
    }
    SECTION("and again after a long outage")
    {
        world.simulated.set_reachable(false);
        world.time.run_for(60s);
        CHECK(member.works.empty());
        CHECK(member.group.owned().empty());
        world.simulated.set_reachable(true);
        world.time.run_for(30s);
        CHECK(member.works.size() == 8);
    }
    SECTION("a second run of the group is refused")
    {
        std::exception_ptr failure;
        async_run(
            member.group, [](Shard&) -> asio::awaitable<void> { co_return; },
            [&](std::exception_ptr thrown) { failure = std::move(thrown); });
        world.time.run_ready();
        REQUIRE(failure);
        CHECK_THROWS_AS(std::rethrow_exception(failure), tenure::error);
    }
}

TEST_CASE("members share the shards out, and move as few as possible")
{
    World world;
    auto& first = world.join();
    world.time.run_for(10s);
    auto& second = world.join();
    world.time.run_for(10s);
    CHECK(first.count() == 4);
    CHECK(second.count() == 4);
    // the work was told why, and its shard was still held
    CHECK(first.reasons == std::vector(4, CancelReason::rebalanced));
    CHECK(first.was_valid);
    CHECK(first.group.members() == std::vector<std::uint32_t>{0, 1});
    auto& third = world.join();
    world.time.run_for(10s);
    CHECK(third.count() == 2);
    CHECK(third.events[ShardEvent::Kind::acquired] == 2);
    SECTION("a member that leaves hands its shards over")
    {
        auto const acquired = first.events[ShardEvent::Kind::acquired] + second.events[ShardEvent::Kind::acquired];
        third.cancel(CancelType::total);
        world.time.run_for(3s);
        CHECK(third.ended);
        CHECK(code_of(third.failure) == asio::error::operation_aborted);
        CHECK(first.count() + second.count() == 8);
        CHECK(first.events[ShardEvent::Kind::acquired] + second.events[ShardEvent::Kind::acquired] == acquired + 2);
        CHECK(third.group.members().empty());
    }
    SECTION("a member whose numbers are lost keeps its shards, and joins again")
    {
        world.simulated.remove("orders:member:1");
        world.time.run_for(30s);
        CHECK(second.events[ShardEvent::Kind::membership_lost] == 1);
        CHECK(second.events[ShardEvent::Kind::joined] == 2);
        CHECK(first.count() + second.count() + third.count() == 8);
        CHECK(world.processes.size() == 3);
    }
    CHECK_FALSE(world.double_owner);
}

TEST_CASE("a member with a greater weight owns more shards")
{
    World world;
    auto& light = world.join();
    world.config.weight = 3;
    auto& heavy = world.join();
    world.time.run_for(10s);
    CHECK(light.count() == 2);
    CHECK(heavy.count() == 6);
    CHECK(light.group.members().size() == 4);
}

TEST_CASE("work has the drain to end, and its shard is held meanwhile")
{
    World world;
    world.config.drain = 3s;
    auto& first = world.join();
    first.manners = Manners::ends_on_terminal;
    world.time.run_for(10s);
    auto& second = world.join();
    // a read of the members later, and before the end of the drain
    world.time.run_for(2500ms);
    CHECK(first.events[ShardEvent::Kind::giving_up] == 4);
    CHECK(first.count() == 4);
    CHECK(first.works.size() == 8);
    CHECK(second.count() == 0);
    world.time.run_for(4s);
    CHECK(first.events[ShardEvent::Kind::terminated] == 4);
    CHECK(first.works.size() == 4);
    CHECK(first.was_valid);
    CHECK(second.count() == 4);
    SECTION("a terminal cancellation of the run leaves no drain")
    {
        first.cancel(CancelType::terminal);
        world.time.run_ready();
        CHECK(first.ended);
    }
    SECTION("a total one does, which a terminal one ends")
    {
        first.cancel(CancelType::total);
        world.time.run_for(2s);
        CHECK_FALSE(first.ended);
        CHECK(first.works.size() == 4);
        first.cancel(CancelType::terminal);
        world.time.run_ready();
        CHECK(first.ended);
    }
}

TEST_CASE("a shard whose work ignores its cancellation expires, and does not begin here again before the work ends")
{
    World world;
    auto& first = world.join();
    first.manners = Manners::ignores_all;
    world.time.run_for(10s);
    auto& second = world.join();
    world.time.run_for(5s);
    CHECK(first.events[ShardEvent::Kind::abandoned] == 4);
    CHECK(second.count() == 0);
    world.time.run_for(10s);
    CHECK(second.count() == 4);
    second.cancel(CancelType::terminal);
    world.time.run_for(20s);
    // work() checks that no work of the same shard runs
    CHECK(first.count() == 4);
    CHECK(first.works.size() == 8);
    first.hangs = false;
    world.time.run_for(100ms);
    first.hangs = true;
    world.time.run_for(20s);
    CHECK(first.works.size() >= 4);
    CHECK_FALSE(world.double_owner);
}

TEST_CASE("an exception of a work ends the run, and is its result")
{
    World world;
    auto& member = world.join();
    member.throws = true;
    member.returns_after = 1s;
    world.time.run_for(10s);
    REQUIRE(member.ended);
    REQUIRE(member.failure);
    CHECK_THROWS_AS(std::rethrow_exception(member.failure), std::runtime_error);
    CHECK(member.works.empty());
    CHECK_FALSE(world.simulated.held("orders:member:0"));
    CHECK_FALSE(world.simulated.held("orders:shard:0"));
    SECTION("the group can run again")
    {
        member.ended = member.throws = false;
        member.run();
        world.time.run_for(10s);
        CHECK(member.count() == 8);
    }
}

TEST_CASE("work that returns is finished, and its shard stays held")
{
    World world;
    auto& first = world.join();
    first.returns_after = 1s;
    world.time.run_for(60s);
    CHECK(first.works.empty());
    CHECK(first.count() == 8);
    CHECK(first.events[ShardEvent::Kind::finished] == 8);
    CHECK(world.simulated.held("orders:shard:7"));
    world.join();
    world.time.run_for(10s);
    CHECK(first.count() == 4);
    CHECK(first.events[ShardEvent::Kind::released] == 4);
}

TEST_CASE("work whose shard is lost is cancelled, and begins again with the next lease")
{
    World world;
    auto& member = world.join();
    world.time.run_for(10s);
    world.simulated.remove("orders:shard:5");
    world.time.run_for(10s);
    CHECK(member.events[ShardEvent::Kind::lost] == 1);
    CHECK(member.reasons == std::vector{CancelReason::not_owner});
    CHECK(member.works.size() == 8);
    CHECK(member.count() == 8);
}

TEST_CASE("a run that is cancelled at once asks the store for nothing")
{
    World world;
    auto& member = world.join();
    member.cancel(CancelType::total);
    world.time.run_for(60s);
    CHECK(member.ended);
    CHECK(code_of(member.failure) == asio::error::operation_aborted);
    CHECK(member.events.empty());
    for (auto const& requests : member.store.metrics().requests)
        for (auto const count : requests.by_outcome)
            CHECK(count == 0);
    // the group is free for another run
    member.ended = false;
    member.run();
    world.time.run_for(10s);
    CHECK(member.count() == 8);
}

TEST_CASE("a member whose claims are refused for a ttl leaves, and joins again")
{
    ScriptedStore test;
    test.backend->answers_inspections = true;
    std::map<ShardEvent::Kind, unsigned> events;
    ShardGroup const group(
        *test.store,
        {.name = "orders", .shards = 1, .ttl = 1s, .on_event = [&](ShardEvent const& event) { ++events[event.kind]; }});
    bool ended = false;
    asio::cancellation_signal signal;
    auto const work = [](Shard&) -> asio::awaitable<void> { co_return; };
    async_run(
        group, work, asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr const&) { ended = true; }));
    auto const refused = make_error_code(errc::permission_denied);
    auto const pass = [&](Clock::duration time) {
        auto& backend = *test.backend;
        for (auto const end = test.runtime->now() + time; test.runtime->now() < end; test.runtime->run_for(10ms)) {
            while (!backend.claims.empty())
                if (backend.claims.front().request.range->prefix == "orders:member:")
                    backend.answer(backend.claims, test.grant(1s));
                else
                    backend.answer(backend.claims, Failure::refused(refused, "no access to shards", true));
            while (!backend.renewals.empty())
                backend.answer(backend.renewals, Renewed{1s, test.runtime->now()});
            while (!backend.releases.empty())
                backend.answer(backend.releases, Released{});
            while (!backend.inspections.empty())
                backend.answer(backend.inspections, std::vector<KeyState>());
        }
    };
    pass(2s);
    CHECK(events[ShardEvent::Kind::joined] == 1);
    CHECK(events[ShardEvent::Kind::left] == 1);
    pass(1s);
    CHECK(events[ShardEvent::Kind::joined] == 2);
    signal.emit(CancelType::total);
    pass(100ms);
    CHECK(ended);
}

TEST_CASE("a run ends with the store")
{
    World world;
    auto& member = world.join();
    world.time.run_for(10s);
    member.store.async_close(1s, [](error_code) {});
    world.time.run_for(10s);
    CHECK(member.ended);
    CHECK(code_of(member.failure) == errc::closed);
    CHECK(member.works.empty());
}

TEST_CASE("a context that ends destroys a run with its works, and calls no handler")
{
    auto const counted = std::make_shared<int>(0);
    bool called = false;
    {
        VirtualTime time;
        SimulatedStore simulated(time);
        ShardGroup const group(simulated.open(), {.name = "orders", .shards = 2});
        auto const work = [&time, counted](Shard&) -> asio::awaitable<void> {
            ++*counted;
            co_await time.async_wait_for(24h, asio::deferred);
        };
        async_run(group, work, [&called, counted](std::exception_ptr const&) { called = true; });
        time.run_for(10s);
        CHECK(*counted == 2);
    }
    CHECK_FALSE(called);
    CHECK(counted.use_count() == 1);
}

TEST_CASE("the config of a group is checked")
{
    World world;
    auto const store = world.simulated.open();
    CHECK_THROWS_AS(ShardGroup(store, {.name = "", .shards = 1}), std::invalid_argument);
    CHECK_THROWS_AS(ShardGroup(store, {.name = "a", .shards = 0}), std::invalid_argument);
    CHECK_THROWS_AS(ShardGroup(store, {.name = "a", .shards = 1, .max_members = 0}), std::invalid_argument);
    CHECK_THROWS_AS(ShardGroup(store, {.name = "a", .shards = 1, .weight = 17}), std::invalid_argument);
    CHECK_THROWS_AS(ShardGroup(store, {.name = "a", .shards = 1, .drain = -1ms}), std::invalid_argument);
    CHECK_THROWS_AS(ShardGroup(store, {.name = "a", .shards = 1, .rebalance_pause = -1ms}), std::invalid_argument);
    CHECK_THROWS_AS(ShardGroup(store, {.name = std::string(1001, 'a'), .shards = 1}), std::invalid_argument);
}

TEST_CASE("members that come and go never own a shard at the same time, and end with exact shares")
{
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        World world;
        world.config.shards = 20;
        world.config.ttl = 2s;
        world.config.drain = 500ms;
        auto state = seed;
        auto const draw = [&state](std::uint64_t limit) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            return (state >> 33U) % limit;
        };
        for (unsigned change = 0; change < 20; ++change) {
            world.time.run_for(std::chrono::milliseconds(draw(3000)));
            auto const count = world.processes.size();
            if (count < 3 || draw(3) != 0)
                world.join().manners = static_cast<Manners>(draw(2));
            else
                world.processes[draw(count)]->cancel(draw(2) == 0 ? CancelType::total : CancelType::terminal);
            if (draw(8) == 0) {
                world.simulated.set_reachable(false);
                world.time.run_for(std::chrono::milliseconds(draw(4000)));
                world.simulated.set_reachable(true);
            }
        }
        world.time.run_for(20s);
        auto const members = static_cast<std::size_t>(
            std::ranges::count_if(world.processes, [](auto const& process) { return !process->ended; }));
        for (auto const& process : world.processes)
            if (!process->ended) {
                CHECK(process->count() == process->works.size());
                CHECK(process->count() >= 20 / members);
                CHECK(process->count() <= (20 + members - 1) / members);
            }
        CHECK_FALSE(world.double_owner);
    }
}

} // namespace tenure::test
