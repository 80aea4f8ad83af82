// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Places on ZooKeeper: their bound.
#include "harness/eventually.hpp"
#include "harness/zookeeper_client.hpp"
#include "harness/zookeeper_server.hpp"
#include "system/support/running_store.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace tenure::test
{

TEST_CASE_METHOD(ZookeeperTest, "a key with 1,024 places takes no more, and none is left", "[zookeeper][shares]")
{
    ZookeeperClient person(server.port());
    person.create_all("/busy");
    // places as Curator names them; the last one of all
    auto const place = [](int number) {
        auto digits = std::to_string(number);
        digits.insert(0, 10 - digits.size(), '0');
        return "/busy/_c_00000000-0000-0000-0000-" + digits + "00-lock-" + digits;
    };
    for (int number = 0; number < 1024; ++number)
        REQUIRE(person.create(place(number), "somebody", true));
    RunningStore running{server.url()};
    Lock const lock(running.store(), {.key = "busy", .ttl = 10s, .fair = true});
    auto const others = [&] {
        auto children = person.children("/busy");
        return std::ranges::count_if(
            children, [](auto const& name) { return name.find("-lock-") != std::string::npos; });
    };
    CHECK(RunningStore::acquire_error(lock, {.wait = 0ms}) == errc::timed_out);
    CHECK(others() == 1024);
    // a waiter creates a place, sees that it is one too many, and removes it
    CHECK(RunningStore::acquire_error(lock, {.wait = 1s}));
    CHECK(eventually([&] { return others() == 1024; }, 10s));

    // with one place less there is room behind the last one
    REQUIRE(person.remove(place(1023)));
    auto waiting = lock.async_acquire({.wait = 60s}, as_future);
    CHECK(eventually([&] { return others() == 1024; }, 10s));
    CHECK(waiting.wait_for(500ms) == std::future_status::timeout);
    for (int number = 0; number < 1023; ++number)
        REQUIRE(person.remove(place(number)));
    auto [error, lease] = soon(std::move(waiting));
    REQUIRE_FALSE(error);
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

} // namespace tenure::test
