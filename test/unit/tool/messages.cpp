// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/option_terms.hpp"
#include "keys/holder.hpp"
#include "run/held_keys.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::tool;
using tenure::KeyState;

namespace
{

KeyState key_of(std::uint32_t index, std::string const& owner, std::chrono::milliseconds held_for)
{
    KeyState state;
    state.index = index;
    state.kind = owner.empty() ? KeyState::Kind::free : KeyState::Kind::held;
    state.owner = owner;
    state.held_for = held_for;
    state.remaining = 4200ms;
    return state;
}

std::string owner_named(std::string const& worker)
{
    return worker + "/0123456789abcdef0123456789abcdef";
}

} // namespace

TEST_CASE("a wrong value is named by its option, not by a field of the C++ interface", "[tool]")
{
    CHECK(in_terms_of_options("LockConfig::ttl is 1 ms: too short") == "--ttl is 1 ms: too short");
    CHECK(in_terms_of_options("SlotPoolConfig::ttl is 1 ms") == "--ttl is 1 ms");
    CHECK(in_terms_of_options("SlotPoolConfig::lease.notice is 2 ms") == "--notice is 2 ms");
    CHECK(in_terms_of_options("LockConfig::key is empty") == "--lock is empty");
    CHECK(in_terms_of_options("SlotPoolConfig::prefix is empty") == "--pool is empty");
    CHECK(in_terms_of_options("ElectionConfig::ttl is 1 ms") == "--ttl is 1 ms");
    CHECK(in_terms_of_options("ElectionConfig::lease.notice is 2 ms") == "--notice is 2 ms");
    CHECK(in_terms_of_options("ElectionConfig::contact has 129 bytes") == "--contact has 129 bytes");
    CHECK(in_terms_of_options("MultiLock of 1025 locks: at most 1024") == "--lock of 1025 locks: at most 1024");
    CHECK(in_terms_of_options("StoreOptions::worker_name must be") == "--worker must be");
    CHECK(in_terms_of_options("RedisConfig::connect_timeout = '1ms'") == "--store: connect_timeout = '1ms'");
    CHECK(in_terms_of_options("store URL: host '::1': must be") == "store URL: host '::1': must be");
}

TEST_CASE("the holder of a lock is named with the time that it has held it", "[tool]")
{
    auto const lock = tenure::named_key("nightly");
    CHECK(describe_holders(*lock, {key_of(0, owner_named("w1"), 4200ms)}) == "held by w1 for 4.2 s");
    CHECK(describe_holders(*lock, {key_of(0, "evicted/admin", 0ms)}) == "evicted by admin, free in 4.2 s");
    CHECK(describe_holders(*lock, {key_of(0, "77", 0ms)}) == "held by other software, with 4.2 s of its ttl left");
    CHECK(describe_holders(*lock, {KeyState{}}) == "free by now");
    auto shared = key_of(0, owner_named("w1"), 4200ms);
    shared.places = {{.holds = true}, {.holds = true}, {.holds = true}, {}};
    CHECK(describe_holders(*lock, {shared}) == "held by w1 for 4.2 s, and by 2 more");
}

TEST_CASE("of a full pool the slots that are held the longest are named, and the others counted", "[tool]")
{
    auto const pool = tenure::numbered_keys("job:", 5);
    std::vector<KeyState> states;
    for (std::uint32_t index = 0; index < 5; ++index)
        states.push_back(key_of(index, owner_named("w" + std::to_string(index)), 1s + index * 1s));
    CHECK(
        describe_holders(*pool, states) ==
        "5 of 5 held: slot 4 by w4 for 5.0 s, slot 3 by w3 for 4.0 s, slot 2 by w2 for 3.0 s, ... 2 more");
    states[4] = KeyState{};
    states.resize(2);
    CHECK(describe_holders(*pool, states) == "2 of 2 held: slot 1 by w1 for 2.0 s, slot 0 by w0 for 1.0 s");
}

TEST_CASE("of several locks those are named that others hold, and the first three of them", "[tool]")
{
    std::vector<tenure::KeyRangePtr> locks;
    std::vector<KeyState> states;
    for (auto const* const key : {"a", "b", "c", "d", "e", "f"}) {
        locks.push_back(tenure::named_key(key));
        states.push_back(key_of(0, owner_named("w1"), 4200ms));
    }
    states[0] = KeyState{};
    states[1] = key_of(0, owner_named("me"), 4200ms);
    CHECK(
        describe_holders(locks, states, "me") ==
        "c held by w1 for 4.2 s, d held by w1 for 4.2 s, e held by w1 for 4.2 s, ... 1 more");
    states.resize(2);
    // a name that several processes share says nothing
    CHECK(describe_holders(locks, states, "me") == "b held by me for 4.2 s");
    states[1] = KeyState{};
    CHECK(describe_holders(locks, states, "me") == "all free by now");
}

TEST_CASE("the command of an inner run does not see what an outer one holds", "[tool]")
{
    for (auto const* const line :
         {"TENURE_ELECTION=a", "TENURE_KEY=a", "TENURE_KEYS=a\nb", "TENURE_SLOT=1", "TENURE_FENCING_TOKEN=1",
          "TENURE_FENCING_TOKEN_12=1"}) {
        INFO(line);
        CHECK(tells_what_is_held(line));
    }
    for (auto const* const line :
         {"TENURE_STORE=redis://h", "TENURE_KEYSTORE=a", "TENURE_FENCING_TOKENS=1", "PATH=/bin"}) {
        INFO(line);
        CHECK_FALSE(tells_what_is_held(line));
    }
}

TEST_CASE("a holder that lost its key learns what became of it", "[tool]")
{
    CHECK(describe_loss("job:0", key_of(0, "evicted/admin", 0ms)) == "job:0 was evicted by admin");
    CHECK(describe_loss("job:0", key_of(0, owner_named("w2"), 0ms)).starts_with("job:0 is held by w2 now: "));
    CHECK(describe_loss("job:0", key_of(0, "77", 0ms)) == "job:0 was overwritten by other software");
    CHECK(describe_loss("job:0", KeyState{}).starts_with("job:0 is free in the store: "));
}
