// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/multi_lock.hpp>
#include <tenure/tenure.hpp>
#include <tenure/testing.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/errc.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenure
{

namespace asio = boost::asio;

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace
{

static_assert(LeaseLike<LeaseSet>);

/** An acquisition of several keys, and what came of it. */
struct Attempt {
    std::optional<error_code> error;
    LeaseSet set;
    asio::cancellation_signal cancel;

    void start(MultiLock const& locks, AcquireOptions const& options = {})
    {
        locks.async_acquire(options, asio::bind_cancellation_slot(cancel.slot(), [this](error_code e, LeaseSet s) {
                                error = e;
                                set = std::move(s);
                            }));
    }
};

struct MultiLockTest {
    testing::VirtualTime time;
    testing::SimulatedStore server{time};
    Store store = server.open("here");
    Store elsewhere = server.open("elsewhere");

    [[nodiscard]] MultiLock locks(std::vector<std::string> keys) const
    {
        return MultiLock(store, {.keys = std::move(keys), .ttl = 3s});
    }
    /** A lease that another process holds. */
    [[nodiscard]] Lease taken(std::string const& key)
    {
        Lease result;
        Lock(elsewhere, {.key = key, .ttl = 3s}).async_acquire([&](error_code error, Lease lease) {
            REQUIRE_FALSE(error);
            result = std::move(lease);
        });
        time.run_ready();
        REQUIRE_FALSE(result.empty());
        return result;
    }
    [[nodiscard]] bool none_held(std::vector<std::string> const& keys) const
    {
        return std::ranges::none_of(keys, [&](std::string const& key) { return server.held(key); });
    }
};

} // namespace

TEST_CASE("all keys are held together, and a set is as good as its weakest lease")
{
    MultiLockTest test;
    auto const locks = test.locks({"c", "a", "b", "a"});
    CHECK(locks.size() == 3);
    Attempt attempt;
    attempt.start(locks);
    test.time.run_ready();
    REQUIRE(attempt.error == error_code());
    auto& set = attempt.set;
    REQUIRE(set.size() == 3);
    CHECK(set[0].key() == "c");
    CHECK(set[1].key() == "a");
    CHECK(set[2].key() == "b");
    CHECK_THROWS_AS(set[3], std::out_of_range);
    CHECK(set.fencing_token("b") == set[2].fencing_token());
    CHECK_THROWS_MATCHES(set.fencing_token("d"), std::out_of_range, MessageMatches(ContainsSubstring("the key d")));
    CHECK(set.valid());
    CHECK_FALSE(set.token().cancelled());
    CHECK(set.valid_until() == std::min({set[0].valid_until(), set[1].valid_until(), set[2].valid_until()}));

    SECTION("it is renewed, and released as a whole")
    {
        test.time.run_for(10s);
        CHECK(set.valid());
        auto const token = set.token();
        std::optional<error_code> waited;
        token.async_wait([&](error_code error) { waited = error; });
        std::optional<ReleaseOutcome> outcome;
        set.async_release([&](error_code error, ReleaseOutcome result) {
            CHECK_FALSE(error);
            outcome = result;
        });
        CHECK(token.cancelled());
        CHECK(token.reason() == CancelReason::released);
        CHECK_FALSE(set.valid());
        test.time.run_ready();
        CHECK(outcome == ReleaseOutcome::released);
        CHECK(waited == error_code());
        CHECK(test.none_held({"a", "b", "c"}));
        std::optional<error_code> again;
        set.async_release([&](error_code error, ReleaseOutcome) { again = error; });
        test.time.run_ready();
        CHECK(again == make_error_code(errc::released));
    }
    SECTION("a loss of one is a loss of the set")
    {
        auto const token = set.token();
        std::optional<error_code> waited;
        token.async_wait([&](error_code error) { waited = error; });
        test.server.remove("b");
        test.time.run_for(2s);
        CHECK(token.reason() == CancelReason::not_owner);
        CHECK(waited == error_code());
        CHECK_FALSE(set.valid());
        std::optional<ReleaseOutcome> outcome;
        set.async_release([&](error_code, ReleaseOutcome result) { outcome = result; });
        test.time.run_ready();
        CHECK(outcome == ReleaseOutcome::was_lost);
        CHECK(test.none_held({"a", "b", "c"}));
    }
    SECTION("nothing runs, and the token knows by the clock")
    {
        auto const token = set.token();
        test.time.skip(5s);
        CHECK(token.cancelled());
        CHECK(token.reason() == CancelReason::expired);
    }
    SECTION("destroyed, it releases everything")
    {
        auto const token = set.token();
        attempt.set = LeaseSet();
        CHECK(token.reason() == CancelReason::released);
        test.time.run_ready();
        CHECK(test.none_held({"a", "b", "c"}));
    }
}

TEST_CASE("keys behind a contended key are given back while it waits, keys before it are kept")
{
    MultiLockTest test;
    auto b = test.taken("b");
    Attempt attempt;
    attempt.start(test.locks({"a", "b", "c"}));
    test.time.run_ready();
    CHECK_FALSE(attempt.error);
    CHECK(test.server.held("a"));
    CHECK_FALSE(test.server.held("c"));
    SECTION("until it is free")
    {
        test.time.run_for(10s);
        CHECK_FALSE(attempt.error);
        b = Lease();
        test.time.run_ready();
        REQUIRE(attempt.error == error_code());
        CHECK(attempt.set.valid());
        CHECK(test.server.held("c"));
    }
    SECTION("a key that it holds is lost meanwhile: it is acquired anew")
    {
        test.server.remove("a");
        auto a = test.taken("a");
        test.time.run_for(3s);
        b = Lease();
        test.time.run_for(10ms);
        CHECK_FALSE(attempt.error);
        CHECK_FALSE(test.server.held("b"));
        a = Lease();
        test.time.run_ready();
        REQUIRE(attempt.error == error_code());
        CHECK(attempt.set.valid());
    }
    SECTION("cancelled, it leaves nothing behind")
    {
        attempt.cancel.emit(asio::cancellation_type::terminal);
        test.time.run_ready();
        CHECK(attempt.error == make_error_code(asio::error::operation_aborted));
        CHECK(attempt.set.empty());
        b = Lease();
        test.time.run_ready();
        CHECK(test.none_held({"a", "b", "c"}));
    }
    SECTION("out of time, likewise")
    {
        test.time.run_for(29s);
        CHECK_FALSE(attempt.error);
        test.time.run_for(2s);
        CHECK(attempt.error == make_error_code(errc::timed_out));
        b = Lease();
        test.time.run_ready();
        CHECK(test.none_held({"a", "b", "c"}));
    }
}

TEST_CASE("a try of several keys takes all or nothing, at once")
{
    MultiLockTest test;
    auto b = test.taken("b");
    std::optional<error_code> error;
    std::optional<LeaseSet> set;
    auto const attempt = [&] {
        error.reset();
        test.locks({"a", "b", "c"}).async_try_acquire([&](error_code e, std::optional<LeaseSet> s) {
            error = e;
            set = std::move(s);
        });
        test.time.run_ready();
        CHECK(error == error_code());
    };
    attempt();
    CHECK_FALSE(set);
    CHECK_FALSE(test.server.held("a"));
    CHECK_FALSE(test.server.held("c"));
    b = Lease();
    attempt();
    REQUIRE(set);
    CHECK(set->size() == 3);
}

TEST_CASE("trouble with the store is waited out, within the wait of the whole")
{
    MultiLockTest test;
    test.server.set_reachable(false);
    Attempt attempt;
    attempt.start(test.locks({"a", "b"}), {.wait = 5s});
    test.time.run_for(4s);
    CHECK_FALSE(attempt.error);
    SECTION("it passes")
    {
        test.server.set_reachable(true);
        test.time.run_for(1s);
        CHECK(attempt.error == error_code());
    }
    SECTION("it lasts")
    {
        test.time.run_for(1100ms);
        CHECK(attempt.error == make_error_code(errc::store_unavailable));
    }
}

TEST_CASE("answers that are lost leave nothing held, and a wait that is shorter than a try ends in time")
{
    MultiLockTest test;
    test.server.set_answers_lost(true);
    Attempt attempt;
    attempt.start(test.locks({"a", "b"}), {.wait = 300ms});
    test.time.run_for(310ms);
    CHECK(attempt.error);
    CHECK(attempt.set.empty());
    test.server.set_answers_lost(false);
    test.time.run_for(10s);
    CHECK(test.none_held({"a", "b"}));
}

TEST_CASE("bad input of a MultiLock is refused in words")
{
    MultiLockTest test;
    CHECK_THROWS_MATCHES(
        test.locks({}), std::invalid_argument, MessageMatches(ContainsSubstring("MultiLock of no locks")));
    std::vector<std::string> many;
    for (int number = 0; number <= 1024; ++number)
        many.push_back(std::to_string(number));
    CHECK_THROWS_MATCHES(
        test.locks(many), std::invalid_argument, MessageMatches(ContainsSubstring("MultiLock of 1025 locks: at most")));
    many.back() = many.front();
    CHECK(test.locks(many).size() == 1024);
    CHECK_THROWS_MATCHES(
        test.locks({"a", ""}), std::invalid_argument,
        MessageMatches(ContainsSubstring("MultiLockConfig::keys is \"\"")));
    Attempt attempt;
    attempt.start(test.locks({"a", "b"}), {.wait = -1ms});
    test.time.run_ready();
    CHECK(attempt.error == make_error_code(boost::system::errc::invalid_argument));
    std::vector<Lock> of_two;
    of_two.emplace_back(test.store, LockConfig{.key = "a"});
    of_two.emplace_back(test.elsewhere, LockConfig{.key = "b"});
    CHECK_THROWS_MATCHES(
        MultiLock(of_two), std::invalid_argument, MessageMatches(ContainsSubstring("StoreOptions::order_name")));
}

TEST_CASE("a MultiLock of one key in two shares is refused")
{
    MultiLockTest const test;
    ReadWriteLock const both(test.store, {.key = "a"});
    Lock const fair(test.store, {.key = "a", .fair = true});
    Lock const plain(test.store, {.key = "a"});
    auto const refused = MessageMatches(ContainsSubstring("\"a\" twice, by locks of different kinds"));
    CHECK_THROWS_MATCHES(MultiLock({both.read_lock(), both.write_lock()}), std::invalid_argument, refused);
    CHECK_THROWS_MATCHES(MultiLock({fair, plain}), std::invalid_argument, refused);
    CHECK(MultiLock({fair, fair}).size() == 1);
}

TEST_CASE("locks of several stores are ordered by the stores' names, whatever order they are named in")
{
    asio::io_context context;
    auto const open = [&](std::string const& name) {
        return open_store(context, MemoryConfig{.name = "multi_lock " + name}, {.order_name = name});
    };
    auto const locks_of = [](Store const& first, Store const& second) {
        std::vector<Lock> locks;
        locks.emplace_back(first, LockConfig{.key = "k"});
        locks.emplace_back(second, LockConfig{.key = "k"});
        return MultiLock(std::move(locks));
    };
    SECTION("two that name them the other way round do not wait for each other")
    {
        int sets = 0;
        auto const contend = [&](MultiLock locks) -> asio::awaitable<void> {
            for (int round = 0; round < 100; ++round) {
                auto set = co_await locks.async_acquire(20s, asio::use_awaitable);
                CHECK(set.size() == 2);
                ++sets;
                co_await set.async_release(asio::use_awaitable);
            }
        };
        auto const rethrow = [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
        };
        asio::co_spawn(context, contend(locks_of(open("1"), open("2"))), rethrow);
        asio::co_spawn(context, contend(locks_of(open("2"), open("1"))), rethrow);
        context.run_for(15s);
        CHECK(sets == 200);
    }
    SECTION("a name that two stores share orders nothing")
    {
        CHECK_THROWS_MATCHES(
            locks_of(open("1"), open("1")), std::invalid_argument,
            MessageMatches(ContainsSubstring("order_name is '1'")));
    }
}

TEST_CASE("MultiLocks over shared keys never wait in a circle, and never hold a key twice")
{
    auto const seed = GENERATE(range(1U, 9U));
    CAPTURE(seed);
    testing::VirtualTime time;
    testing::SimulatedStore server{time};
    server.answer_after(1ms);
    std::mt19937 random(seed);
    std::vector<std::string> const keys{"a", "b", "c", "d", "e"};
    std::multiset<std::string> held;
    int rounds_left = 6 * 20;
    auto const contend = [&](Store store) -> asio::awaitable<void> {
        for (int round = 0; round < 20; ++round) {
            auto chosen = keys;
            std::ranges::shuffle(chosen, random);
            chosen.resize(2 + random() % 4);
            MultiLock const locks(store, {.keys = chosen, .ttl = 3s});
            AcquireOptions const options{.wait = forever};
            auto set = co_await locks.async_acquire(options, asio::use_awaitable);
            held.insert(chosen.begin(), chosen.end());
            for (auto const& key : chosen)
                CHECK(held.count(key) == 1);
            auto const hold = std::chrono::milliseconds(random() % 20);
            co_await time.async_wait_for(hold, asio::use_awaitable);
            for (auto const& key : chosen)
                held.erase(held.find(key));
            co_await set.async_release(asio::use_awaitable);
            --rounds_left;
        }
    };
    for (int process = 0; process < 6; ++process)
        asio::co_spawn(time.get_executor(), contend(server.open()), [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
    time.run_for(60s);
    CHECK(rounds_left == 0);
}

} // namespace tenure
