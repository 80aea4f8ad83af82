// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Several keys that are acquired together, on every store.
#include "conformance/locks/programs.hpp"
#include "conformance/locks/set_attempt.hpp"

#include <tenure/errc.hpp>
#include <tenure/multi_lock.hpp>

#include <boost/asio/error.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

/** A program that acquires the same keys again and again. */
struct Contender {
    Contender(MultiLock keys, int count)
        : locks(std::move(keys))
        , rounds(count)
    {
    }

    void go_on()
    {
        locks.async_acquire(20s, [this](error_code error, LeaseSet set) {
            if (error) {
                failure = error;
                return;
            }
            // the handler keeps the set until the stores have answered
            auto const held = std::make_shared<LeaseSet>(std::move(set));
            held->async_release([this, held](error_code, ReleaseOutcome) {
                if (++done < rounds)
                    go_on();
            });
        });
    }

    [[nodiscard]] bool has_ended() const noexcept { return done == rounds; }

    MultiLock locks;
    int rounds;
    int done = 0;
    error_code failure;
};

/** Two programs that share the keys a, b and c. */
struct Sharing {
    Programs programs;
    Store here = programs.open("here");
    Store elsewhere = programs.open("elsewhere");

    [[nodiscard]] MultiLock
    locks(Store const& store, std::vector<std::string> names, std::chrono::milliseconds ttl = 30s) const
    {
        for (auto& name : names)
            name = programs.key(name);
        return MultiLock(store, {.keys = std::move(names), .ttl = ttl});
    }
    /** The keys that the other program holds. */
    [[nodiscard]] LeaseSet taken(std::string const& name)
    {
        auto set = try_once(programs, locks(elsewhere, {name}));
        REQUIRE_FALSE(set.empty());
        return set;
    }
    [[nodiscard]] bool free(std::string const& name) { return is_free(programs, here, programs.key(name)); }
    void wait_until_free(std::vector<std::string> names)
    {
        for (auto& name : names)
            name = programs.key(name);
        test::wait_until_free(programs, here, names);
    }
    /** Until the set that waits for `b` holds what comes before it, and nothing behind it. */
    void wait_until_it_waits_for_b()
    {
        programs.run_until([&] { return !free("a"); });
        wait_until_free({"c"});
    }
    void wait_for(Contender const& one, Contender const& other)
    {
        programs.run_until([&] { return one.failure || other.failure || (one.has_ended() && other.has_ended()); });
        CHECK_FALSE(one.failure);
        CHECK_FALSE(other.failure);
    }
};

} // namespace

TEST_CASE("a try of several keys takes all of them, or nothing if one is held", "[multi]")
{
    Sharing sharing;
    auto const locks = sharing.locks(sharing.here, {"c", "a", "b"});
    auto b = sharing.taken("b");
    CHECK(try_once(sharing.programs, locks).empty());
    sharing.wait_until_free({"a", "c"});
    CHECK(b.valid());
    CHECK(release(sharing.programs, b) == ReleaseOutcome::released);
    auto set = try_once(sharing.programs, locks);
    REQUIRE_FALSE(set.empty());
    CHECK(set.valid());
    REQUIRE(set.size() == 3);
    CHECK(set[0].key() == sharing.programs.key("c"));
    for (auto const* const name : {"a", "b", "c"}) {
        CHECK_FALSE(sharing.free(name));
        CHECK(try_once(sharing.programs, sharing.locks(sharing.elsewhere, {name})).empty());
    }
    CHECK(release(sharing.programs, set) == ReleaseOutcome::released);
    sharing.wait_until_free({"a", "b", "c"});
}

TEST_CASE("a set that waits keeps what comes before the awaited key, and gets everything after the release", "[multi]")
{
    Sharing sharing;
    auto b = sharing.taken("b");
    SetAttempt attempt;
    attempt.start(sharing.locks(sharing.here, {"c", "b", "a"}), {.wait = 20s});
    sharing.wait_until_it_waits_for_b();
    CHECK_FALSE(attempt.error);
    CHECK(release(sharing.programs, b) == ReleaseOutcome::released);
    sharing.programs.run_until([&] { return attempt.error.has_value(); });
    REQUIRE(attempt.error == error_code());
    CHECK(attempt.set.valid());
    CHECK(attempt.set.size() == 3);
}

TEST_CASE("two programs that name the same keys in opposite order both get them", "[multi]")
{
    Sharing sharing;
    auto const third = sharing.programs.open("third");
    SECTION("again and again")
    {
        constexpr int rounds = 15;
        Contender forwards(sharing.locks(sharing.here, {"a", "b", "c"}), rounds);
        Contender backwards(sharing.locks(sharing.elsewhere, {"c", "b", "a"}), rounds);
        forwards.go_on();
        backwards.go_on();
        sharing.wait_for(forwards, backwards);
    }
    SECTION("where both have to wait, and the keys become free one after the other")
    {
        // if each waited for the key that it named first, each would get that one, and wait for the other one's
        for (int round = 0; round < 6; ++round) {
            auto a = try_once(sharing.programs, sharing.locks(third, {"a"}));
            auto b = try_once(sharing.programs, sharing.locks(third, {"b"}));
            REQUIRE_FALSE((a.empty() || b.empty()));
            Contender forwards(sharing.locks(sharing.here, {"a", "b"}), 1);
            Contender backwards(sharing.locks(sharing.elsewhere, {"b", "a"}), 1);
            forwards.go_on();
            backwards.go_on();
            sharing.programs.run_for(60ms);
            (void)release(sharing.programs, b);
            sharing.programs.run_for(60ms);
            (void)release(sharing.programs, a);
            sharing.wait_for(forwards, backwards);
        }
    }
}

TEST_CASE("an acquisition that is cancelled, or out of time, leaves every key free", "[multi]")
{
    Sharing sharing;
    auto b = sharing.taken("b");
    auto const locks = sharing.locks(sharing.here, {"a", "b", "c"});
    SetAttempt attempt;
    SECTION("cancelled")
    {
        attempt.start(locks, {.wait = 20s});
        sharing.wait_until_it_waits_for_b();
        attempt.cancel.emit(asio::cancellation_type::terminal);
        sharing.programs.run_until([&] { return attempt.error.has_value(); }, 1s);
        CHECK(attempt.error == make_error_code(asio::error::operation_aborted));
    }
    SECTION("out of time")
    {
        attempt.start(locks, {.wait = 700ms});
        sharing.programs.run_until([&] { return attempt.error.has_value(); });
        CHECK(attempt.error == make_error_code(errc::timed_out));
    }
    CHECK(attempt.set.empty());
    sharing.wait_until_free({"a", "c"});
    CHECK(b.valid());
    CHECK(release(sharing.programs, b) == ReleaseOutcome::released);
    // the acquisition that ended does not take it either
    sharing.programs.run_for(200ms);
    CHECK(sharing.free("b"));
}

TEST_CASE("an acquisition that is cancelled while its claims are under way leaves every key free", "[multi]")
{
    Sharing sharing;
    auto const locks = sharing.locks(sharing.here, {"a", "b", "c"});
    for (int turns = 0; turns < 8; ++turns) {
        SetAttempt attempt;
        attempt.start(locks, {.wait = 20s});
        sharing.programs.run_for(std::chrono::milliseconds(turns));
        attempt.cancel.emit(asio::cancellation_type::terminal);
        sharing.programs.run_until([&] { return attempt.error.has_value(); }, 3s);
        // a success that came first is the caller's
        CHECK(!attempt.set.empty() == !*attempt.error);
        attempt.set = LeaseSet();
        sharing.wait_until_free({"a", "b", "c"});
    }
}

TEST_CASE("the loss of one lease cancels the set, and its release frees the other keys", "[multi]")
{
    Sharing sharing;
    // the evicted key becomes free when its ttl is over
    auto const ttl = std::max<std::chrono::milliseconds>(sharing.programs.subject().short_ttl(), 3s);
    auto set = try_once(sharing.programs, sharing.locks(sharing.here, {"a", "b", "c"}, ttl));
    REQUIRE_FALSE(set.empty());
    std::optional<error_code> told;
    set.token().async_wait([&](error_code error) { told = error; });
    std::optional<error_code> evicted;
    sharing.elsewhere.async_evict(
        {.range = named_key(sharing.programs.key("b")), .owner = set[1].owner()}, "test",
        [&](error_code error, std::chrono::milliseconds) { evicted = error; });
    sharing.programs.run_until([&] { return evicted.has_value(); });
    REQUIRE(evicted == error_code());
    sharing.programs.run_until([&] { return told.has_value(); });
    CHECK(told == error_code());
    CHECK(set.token().reason() == CancelReason::not_owner);
    CHECK_FALSE(set.valid());
    CHECK(set[0].valid());
    CHECK_FALSE(sharing.free("a"));
    CHECK(release(sharing.programs, set) == ReleaseOutcome::was_lost);
    CHECK(sharing.free("a"));
    CHECK(sharing.free("c"));
    auto again = try_once(sharing.programs, sharing.locks(sharing.elsewhere, {"a", "c"}));
    CHECK_FALSE(again.empty());
}

TEST_CASE("fencing tokens of each key increase from set to set", "[multi]")
{
    Sharing sharing;
    std::map<std::string, std::uint64_t> last;
    std::vector<std::vector<std::string>> const choices{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"a", "b", "c"}};
    for (int round = 0; round < 8; ++round) {
        auto const& names = choices[static_cast<std::size_t>(round) % choices.size()];
        auto set = try_once(sharing.programs, sharing.locks(round % 2 == 0 ? sharing.here : sharing.elsewhere, names));
        REQUIRE_FALSE(set.empty());
        for (auto const& name : names) {
            auto const token = set.fencing_token(sharing.programs.key(name));
            CHECK(token > std::exchange(last[name], token));
        }
        CHECK(release(sharing.programs, set) == ReleaseOutcome::released);
    }
}

} // namespace tenure::test
