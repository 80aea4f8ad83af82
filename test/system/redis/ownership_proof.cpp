// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Ownership of a key is proven where the key is written, never by a look at it (S12); and one key that the server will
// not let be renewed costs no other lease (L3).
#include "harness/eventually.hpp"
#include "system/support/running_store.hpp"
#include "system/support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;

namespace
{

/** The inspecting script's answer about one key. */
std::string inspected(std::string const& owner)
{
    return "*5\r\n" + bulk("1700000000000000") + ":0\r\n" + bulk(owner) + ":60000\r\n" + bulk("1700000000000000");
}

} // namespace

TEST_CASE("a look that still shows the owner saves no lease that the store says is lost", "[integration]")
{
    ScriptedServer server;
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("held", 1500ms));
    auto const owner = lease.owner();
    FiredAt fired{lease.token()};
    server.behave([owner](Words const& request, std::string const& good) {
        if (purpose_of(request) == Purpose::renewal)
            return Answer{bulk("0")};
        return Answer{purpose_of(request) == Purpose::inspection ? inspected(owner) : good};
    });
    auto const seen = soon(running.store().async_inspect(named_key("held"), asio::use_future));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].owner == owner);
    CHECK(fired.wait(10s));
    CHECK(lease.token().reason() == CancelReason::not_owner);
    CHECK_FALSE(lease.valid());
}

TEST_CASE("a look that shows another owner takes no lease that the store renews", "[integration]")
{
    ScriptedServer server;
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("held", 1500ms));
    server.behave([](Words const& request, std::string const& good) {
        return Answer{purpose_of(request) == Purpose::inspection ? inspected("somebody/else") : good};
    });
    auto const seen = soon(running.store().async_inspect(named_key("held"), asio::use_future));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].owner == "somebody/else");
    auto const valid_until = lease.valid_until();
    CHECK(eventually([&] { return lease.valid_until() > valid_until + 1500ms; }));
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    // nothing but the test has looked: acquiring, renewing and releasing need no look
    CHECK(server.requests(Purpose::inspection) == 1);
}

TEST_CASE("a key that may not be renewed costs no other lease, though all are renewed together", "[integration]")
{
    ScriptedServer server;
    RunningStore running{server.url()};
    auto stuck = RunningStore::acquire(running.lock("stuck", 1500ms));
    std::vector<Lease> others;
    for (int i = 0; i < 40; ++i)
        others.push_back(RunningStore::acquire(running.lock("other-" + std::to_string(i), 1500ms)));
    server.behave([](Words const& request, std::string const& good) {
        bool const names_it = std::ranges::find(request, "stuck") != request.end();
        return Answer{
            purpose_of(request) == Purpose::renewal && names_it
                ? "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n"
                : good};
    });
    FiredAt fired{stuck.token()};
    CHECK(fired.wait(10s));
    CHECK(stuck.token().reason() == CancelReason::expired);
    for (auto& other : others) {
        CHECK(other.state() == LeaseState::held);
        CHECK(RunningStore::release(other) == ReleaseOutcome::released);
    }
}
