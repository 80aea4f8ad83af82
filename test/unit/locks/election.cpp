// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Election: who leads, as each program sees it, and what becomes of a leader.
#include "harness/documented.hpp"
#include "harness/immovable.hpp"
#include "unit/locks/view_fixture.hpp"

#include <tenure/election.hpp>
#include <tenure/run.hpp>
#include <tenure/testing.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;
using State = Leader::State;

namespace
{

/** One program that stands for an office, or follows. */
struct Program {
    Program(testing::SimulatedStore& simulated, std::string const& name)
        : store(simulated.open(name))
        , election(store, {.name = "office", .contact = name + ".example:80", .ttl = 3s})
    {
        follow(0);
    }

    void follow(std::uint64_t seen)
    {
        election.async_next_leader(seen, [this](error_code failure, Leader leader) {
            if (failure)
                return;
            told.push_back(leader);
            follow(leader.version);
        });
    }
    void campaign()
    {
        election.async_campaign([this](error_code failure, Lease granted) {
            error = failure;
            lease = std::move(granted);
        });
    }

    Store store;
    Election election;
    /// all changes
    std::vector<Leader> told;
    std::optional<error_code> error;
    Lease lease;
};

struct Programs : Immovable {
    ~Programs()
    {
        for (auto* program : {&a, &b}) {
            program->lease = {};
            program->store.async_close(0s, [](error_code) {});
        }
        time.run_for(10s);
    }

    testing::VirtualTime time;
    testing::SimulatedStore simulated{time};
    Program a{simulated, "a"};
    Program b{simulated, "b"};
};

std::string const token(32, '0');

/** An owner as tenure writes it. */
std::string owner_of(std::string const& worker, std::string const& note)
{
    return worker + "/" + note + "/1764000000/" + token;
}

/** A follower whose store answers what the test says. */
struct Following : ScriptedStore {
    Following()
    {
        backend->answers_inspections = true;
        election.emplace(*store, ElectionConfig{.name = "office"});
        runtime->run_ready();
    }
    ~Following()
    {
        cancel.emit(asio::cancellation_type::terminal);
        election.reset();
        runtime->run_ready();
    }

    Leader answer(KeyState const& state)
    {
        runtime->run_for(1s);
        REQUIRE(backend->inspections.size() == 1);
        backend->answer(backend->inspections, Keys{state});
        runtime->run_ready();
        return election->leader();
    }
    std::optional<Leader>& wait(std::uint64_t seen)
    {
        auto& told = waits.emplace_back();
        election->async_next_leader(
            seen, asio::bind_cancellation_slot(cancel.slot(), [&told](error_code error, Leader leader) {
                if (!error)
                    told = std::move(leader);
            }));
        runtime->run_ready();
        return told;
    }

    std::optional<Election> election;
    std::list<std::optional<Leader>> waits;
    asio::cancellation_signal cancel;
};

} // namespace

TEST_CASE("followers learn who leads and where, that the leader resigned, and who leads then")
{
    Programs test;
    CHECK(test.b.election.leader().state == State::unknown);
    CHECK(test.b.election.leader().version == 0);
    test.time.run_for(100ms);
    REQUIRE(test.b.told.size() == 1);
    CHECK(test.b.told.back().state == State::none);
    test.a.campaign();
    test.time.run_for(1s);
    REQUIRE(test.b.told.size() == 2);
    auto const first = test.b.told.back();
    CHECK(first.state == State::present);
    CHECK(first.name == "a");
    CHECK(first.contact == "a.example:80");
    CHECK(first.fencing_token == test.a.lease.fencing_token());
    CHECK(first.age < 1s);
    auto const now = test.b.election.leader();
    CHECK(now.name == "a");
    CHECK(now.version == first.version);

    test.b.campaign();
    test.time.run_for(30s);
    CHECK_FALSE(test.b.error);
    // a leader that goes on renewing is no news
    CHECK(test.b.told.size() == 2);
    test.a.lease = {};
    test.time.run_for(1100ms);
    CHECK(test.b.error == error_code());
    for (auto const* program : {&test.a, &test.b}) {
        auto const& last = program->told.back();
        CHECK(last.state == State::present);
        CHECK(last.name == "b");
        CHECK(last.contact == "b.example:80");
    }
    CHECK(*test.a.told.back().fencing_token > first.fencing_token);
}

TEST_CASE("followers see none when a leader's time has run out, without any event")
{
    Programs test;
    test.a.campaign();
    test.time.run_for(1100ms);
    REQUIRE(test.b.told.back().name == "a");
    auto const before = test.b.told.size();
    // another client's value expires as silently as the key of a dead leader
    test.simulated.overwrite("office", 2s);
    test.time.run_for(2100ms);
    CHECK(test.b.told.back().state == State::none);
    CHECK(test.b.told.size() > before);
}

TEST_CASE("while the store is unavailable the leader that was seen last is shown, and becomes stale")
{
    Programs test;
    test.a.campaign();
    test.time.run_for(1100ms);
    REQUIRE(test.b.told.back().state == State::present);
    auto const version = test.b.told.back().version;
    test.simulated.set_reachable(false);
    test.time.run_for(1500ms);
    CHECK(test.b.election.leader().state == State::present);
    CHECK(test.b.election.leader().version == version);
    test.time.run_for(2s);
    auto const stale = test.b.told.back();
    CHECK(stale.state == State::stale);
    CHECK(stale.name == "a");
    CHECK(stale.contact == "a.example:80");
    CHECK(stale.version == version + 1);
    test.time.run_for(10s);
    CHECK(test.b.told.back().version == stale.version);
    CHECK(test.b.election.leader().age > 12s);
    test.simulated.set_reachable(true);
    test.time.run_for(10ms);
    CHECK(test.b.told.back().state == State::none);
}

TEST_CASE("an absence that the store has not confirmed is stale, and has no name")
{
    Programs test;
    test.time.run_for(1s);
    REQUIRE(test.b.told.back().state == State::none);
    test.simulated.set_reachable(false);
    test.time.run_for(4s);
    CHECK(test.b.told.back().state == State::stale);
    CHECK(test.b.told.back().name.empty());
}

TEST_CASE("a key that no program holds is led by none")
{
    Following test;
    CHECK(test.election->leader().state == State::unknown);
    auto const led = held_key(owner_of("a", "note"));
    CHECK(test.answer(led).state == State::present);
    auto evicted = held_key("evicted/operator");
    CHECK(test.answer(evicted).state == State::none);
    CHECK(test.answer(evicted).name.empty());
    CHECK_FALSE(test.answer(evicted).fencing_token);
    // a name like the random part of an owner
    CHECK(test.answer(held_key("evicted/" + token)).state == State::none);
    using Kind = KeyState::Kind;
    for (auto const kind : {Kind::resting, Kind::kept, Kind::foreign}) {
        auto other = led;
        other.kind = kind;
        CHECK(test.answer(other).state == State::none);
    }
    CHECK(test.answer(KeyState{}).state == State::none);
}

TEST_CASE("an office that stays vacant is no news, whatever becomes of its key")
{
    Following test;
    auto const version = test.answer(held_key("evicted/operator")).version;
    auto const& told = test.wait(version);
    KeyState kept = held_key("a");
    kept.kind = KeyState::Kind::kept;
    test.answer(KeyState{});
    test.answer(kept);
    CHECK_FALSE(told);
    // the same program may come again: that is another leader
    auto const first = test.answer(held_key(owner_of("a", "x") + "1"));
    REQUIRE(told);
    CHECK(told->version == version + 1);
    CHECK(test.answer(held_key(owner_of("a", "x") + "2")).version == first.version + 1);
}

TEST_CASE("a holder that does not write its name leads without one")
{
    Following test;
    auto const leader = test.answer(held_key("1764000000.25"));
    CHECK(leader.state == State::present);
    CHECK(leader.name.empty());
    CHECK(leader.contact.empty());
    CHECK_FALSE(leader.fencing_token);
}

TEST_CASE("a wait for the next leader ends with its cancellation and with the store")
{
    Programs test;
    std::vector<error_code> errors;
    asio::cancellation_signal cancel;
    test.time.run_for(100ms);
    auto const version = test.a.election.leader().version;
    auto const note = [&](error_code error, Leader const&) { errors.push_back(error); };
    test.a.election.async_next_leader(version, asio::bind_cancellation_slot(cancel.slot(), note));
    test.a.election.async_next_leader(version, note);
    cancel.emit(asio::cancellation_type::partial);
    test.time.run_ready();
    REQUIRE(errors.size() == 1);
    CHECK(errors.back() == asio::error::operation_aborted);
    test.a.store.async_close(1s, [](error_code) {});
    test.time.run_ready();
    REQUIRE(errors.size() == 2);
    CHECK(errors.back() == make_error_code(errc::closed));
}

TEST_CASE("a campaign waits without end unless it has a limit")
{
    Programs test;
    test.a.campaign();
    test.time.run_for(1s);
    test.b.campaign();
    std::optional<error_code> limited;
    test.b.election.async_campaign(5s, [&](error_code error, Lease const&) { limited = error; });
    test.time.run_for(5100ms);
    CHECK(limited == make_error_code(errc::timed_out));
    test.time.run_for(1h);
    CHECK_FALSE(test.b.error);
    test.a.lease = {};
    test.time.run_for(1s);
    CHECK(test.b.error == error_code());
    CHECK(test.b.lease.valid());
}

TEST_CASE("a program that leads by async_run resigns when its work has ended, and campaigns again after a loss")
{
    Programs test;
    int terms = 0;
    std::vector<bool> held_at_the_end;
    std::optional<std::exception_ptr> ended;
    auto const work = [&](Lease& lease) -> asio::awaitable<void> {
        ++terms;
        auto const stop = lease.token();
        while (!stop.cancelled() && terms < 2)
            co_await test.time.async_wait_for(10ms, asio::use_awaitable);
        // winding down takes its time, in which no other program leads
        co_await test.time.async_wait_for(100ms, asio::use_awaitable);
        held_at_the_end.push_back(test.simulated.held("office"));
    };
    async_run(test.a.election, work, [&](std::exception_ptr failure) { ended = failure; });
    test.time.run_for(1s);
    CHECK(terms == 1);
    CHECK(test.a.election.leader().name == "a");
    test.simulated.remove("office");
    test.time.run_for(5s);
    CHECK(terms == 2);
    REQUIRE(ended);
    CHECK(*ended == nullptr);
    // the first term was cancelled before its end
    CHECK(held_at_the_end == std::vector{true});
    CHECK_FALSE(test.simulated.held("office"));
    test.time.run_for(1s);
    CHECK(test.b.told.back().state == State::none);
}

TEST_CASE("an invalid config of an Election is refused before anything is sent")
{
    ScriptedStore test;
    auto const refusal = [&](std::function<void(ElectionConfig&)> const& change) -> std::string {
        ElectionConfig config{.name = "office"};
        change(config);
        try {
            Election const election(*test.store, config);
        } catch (std::invalid_argument const& error) {
            return error.what();
        }
        return {};
    };
    CHECK(documented(refusal([](auto& config) { config.name = ""; })));
    CHECK(documented(refusal([](auto& config) { config.contact = std::string(129, 'x'); })));
    CHECK(documented(refusal([](auto& config) { config.contact = "a\nb"; })));
    CHECK(documented(refusal([](auto& config) { config.ttl = 99ms; })));
    CHECK(documented(refusal([](auto& config) { config.lease.notice = -1ms; })));
    CHECK(documented(refusal([](auto& config) { config.refresh = 99ms; })));
    CHECK(refusal([](auto& config) { config.contact = std::string(128, 'x'); }).empty());
    test.runtime->run_ready();
    Election const election(*test.store, {.name = "office", .ttl = 4s});
    CHECK(election.name() == "office");
    CHECK(election.range()->describe() == "office");
    CHECK(election.ttl() == 4s);
    test.runtime->run_ready();
}

} // namespace tenure::test
