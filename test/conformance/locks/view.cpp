// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A View shows the keys of other programs, on every store.
#include "conformance/locks/programs.hpp"

#include <tenure/lock.hpp>
#include <tenure/slot_pool.hpp>
#include <tenure/view.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** A program that looks at the keys of others. */
struct Onlooker {
    template <class Keys>
    Onlooker(Keys const& keys, ViewOptions options)
        : view(keys, options)
    {
        follow(0);
    }

    void follow(std::uint64_t seen)
    {
        view.async_changed(seen, lifetime.guard([this](error_code error, ViewSnapshot now) {
            if (error)
                return;
            versions.push_back(now.version);
            last = std::move(now);
            follow(last.version);
        }));
    }
    [[nodiscard]] bool sees_held(std::uint32_t index) const
    {
        return index < last.keys.size() && last.keys[index].kind == KeyState::Kind::held;
    }

    View view;
    ViewSnapshot last;
    std::vector<std::uint64_t> versions;
    Lifetime lifetime;
};

} // namespace

TEST_CASE("a View sees what another program acquires and releases", "[view]")
{
    Programs programs;
    auto const holder = programs.open("holder");
    auto const follower = programs.open("follower");
    SlotPoolConfig const config{.prefix = programs.key("slot:"), .size = 3, .ttl = 30s};
    SlotPool const pool(holder, config);
    Onlooker onlooker(SlotPool(follower, config), {.refresh = 200ms});
    programs.run_until([&] { return onlooker.last.version == 1; });
    REQUIRE(onlooker.last.keys.size() == 3);
    CHECK_FALSE(onlooker.sees_held(0));
    CHECK_FALSE(onlooker.sees_held(1));
    CHECK_FALSE(onlooker.sees_held(2));

    std::optional<Slot> slot;
    pool.async_acquire(20s, [&](error_code, Slot granted) { slot.emplace(std::move(granted)); });
    programs.run_until([&] { return slot && !slot->empty(); });
    programs.run_until([&] { return onlooker.sees_held(slot->id()); });
    auto const& key = onlooker.last.keys[slot->id()];
    CHECK(key.index == slot->id());
    CHECK(key.owner == slot->owner());
    CHECK(onlooker.last.age < 5s);
    CHECK(std::ranges::count(onlooker.last.keys, KeyState::Kind::held, &KeyState::kind) == 1);

    auto const id = slot->id();
    slot->async_release([](error_code, ReleaseOutcome) {});
    programs.run_until([&] { return !onlooker.sees_held(id); });
    // each change once, in order
    CHECK(onlooker.versions == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("a View with a long refresh learns of a release by its announcement", "[view]")
{
    Programs programs;
    auto const holder = programs.open("holder");
    auto const follower = programs.open("follower");
    Lock const lock(holder, {.key = programs.key("job"), .ttl = 30s});
    Lease lease;
    lock.async_acquire([&](error_code, Lease granted) { lease = std::move(granted); });
    programs.run_until([&] { return !lease.empty(); });
    Onlooker onlooker(Lock(follower, {.key = programs.key("job"), .ttl = 30s}), {.refresh = 1h});
    programs.run_until([&] { return onlooker.sees_held(0); });
    // its subscription comes into force
    programs.run_for(500ms);
    lease.async_release([](error_code, ReleaseOutcome) {});
    programs.run_until([&] { return !onlooker.sees_held(0); });
}

TEST_CASE("a View sees the end of a program that crashed, when its ttl is over", "[view]")
{
    Programs programs;
    auto const ttl = programs.subject().short_ttl();
    auto const follower = programs.open("follower");
    Onlooker onlooker(Lock(follower, {.key = programs.key("job"), .ttl = ttl}), {.refresh = 1s});
    {
        auto const crashing = programs.open("crashing");
        Lock const lock(crashing, {.key = programs.key("job"), .ttl = ttl});
        Lease lease;
        lock.async_acquire([&](error_code, Lease granted) { lease = std::move(granted); });
        programs.run_until([&] { return onlooker.sees_held(0); });
        // the key is left to its ttl, as by a process that was killed
        std::optional<error_code> closed;
        crashing.async_close(0s, [&](error_code error) { closed = error; });
        programs.run_until([&] { return closed.has_value(); });
    }
    programs.run_until([&] { return !onlooker.sees_held(0); });
    CHECK(onlooker.last.keys.front().kind == KeyState::Kind::free);
}

TEST_CASE("a View goes with its store", "[view]")
{
    Programs programs;
    auto const store = programs.open("follower");
    View const view(store, named_key(programs.key("job")), {.refresh = 100ms});
    std::optional<std::uint64_t> first;
    view.async_changed(0, [&](error_code, ViewSnapshot const& now) { first = now.version; });
    programs.run_until([&] { return first.has_value(); });
    CHECK(first == 1U);
    std::optional<error_code> waiting;
    std::optional<error_code> closed;
    view.async_changed(1, [&](error_code error, ViewSnapshot const&) { waiting = error; });
    store.async_close(5s, [&](error_code error) { closed = error; });
    programs.run_until([&] { return closed && waiting; });
    CHECK(closed == error_code());
    CHECK(waiting == make_error_code(errc::closed));
}

} // namespace tenure::test
