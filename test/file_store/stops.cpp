// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process that is stopped before any of its changes of files: no key has two holders, others keep their leases, and
// what waits for its lock learns its name.
#include "forked.hpp"
#include "harness/scratch_directory.hpp"
#include "system_calls.hpp"

#include <tenure/conformance/expect.hpp>
#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace tenure::test
{

using namespace conformance;
using namespace std::chrono_literals;

namespace
{

constexpr auto brief = 100ms;
constexpr auto long_ttl = 30s;

ClaimRequest request_of(Client const& client, KeyRangePtr range, unsigned number, std::chrono::milliseconds ttl)
{
    return {std::move(range), owner(number), ttl, client.now() + 10s, true, std::nullopt};
}

/** What the stopped process does: returns until when it relies on the key. */
struct Request {
    char const* name;
    std::function<std::function<std::int64_t()>(Client&, KeyRangePtr const&)> prepare;
};

Request const requests[]{
    {"claim",
     [](Client& client, KeyRangePtr const& range) {
         return std::function(
             [&client, range] { return end_of<Granted>(client.claim(request_of(client, range, 1, brief))); });
     }},
    {"renewal",
     [](Client& client, KeyRangePtr const& range) {
         auto const granted = expect<Granted>(client.claim(request_of(client, range, 1, brief)));
         return std::function([&client, claim = claim_of(range, owner(1), granted)] {
             return end_of<Renewed>(client.renew(claim, brief));
         });
     }},
    {"release",
     [](Client& client, KeyRangePtr const& range) {
         auto const granted = expect<Granted>(client.claim(request_of(client, range, 1, brief)));
         return std::function([&client, claim = claim_of(range, owner(1), granted)]() -> std::int64_t {
             static_cast<void>(client.release(claim));
             return 0;
         });
     }},
    {"eviction",
     [](Client& client, KeyRangePtr const& range) {
         auto const granted = expect<Granted>(client.claim(request_of(client, range, 1, brief)));
         return std::function([&client, range, end = (granted.since + granted.ttl).time_since_epoch().count()] {
             static_cast<void>(client.evict(range, 0, owner(1)));
             return end;
         });
     }},
    {"sweep",
     [](Client& client, KeyRangePtr const&) {
         leave_litter(client.backend().describe().substr(std::string("file://").size()));
         return std::function([&client]() -> std::int64_t {
             // a claim clears a little away
             for (unsigned number = 5; number < 9; ++number)
                 static_cast<void>(client.claim(request_of(client, named_key("other"), number, brief)));
             return 0;
         });
     }},
};

struct Outcome {
    bool stopped = false;
    /// a claim failed because the stopped process has the lock
    bool named = false;
};

Outcome stop_at(std::string const& directory, Client& client, Request const& request, int nth)
{
    auto const range = named_key("pool:0");
    Forked process(directory, [&](Client& inside) {
        auto const ask = request.prepare(inside, range);
        AtPoints const stop(raise_before_change(nth, SIGSTOP));
        return ask();
    });
    Outcome outcome;
    outcome.stopped = process.stops();
    if (!outcome.stopped)
        return outcome;
    Instant granted_at{};
    for (auto const pause : {0ms, brief + 20ms}) {
        client.run_for(pause);
        auto const reply = client.claim(request_of(client, range, 2, long_ttl));
        if (auto const* const granted = std::get_if<Granted>(&reply))
            granted_at = granted->since;
        if (auto const* const failure = std::get_if<Failure>(&reply)) {
            outcome.named = true;
            CHECK(failure->error == errc::store_unavailable);
            CHECK(failure->detail.find("pid " + std::to_string(process.pid()) + ", stopped") != std::string::npos);
        }
    }
    process.resume();
    auto const relied_until = process.result();
    REQUIRE(relied_until);
    if (granted_at != Instant{})
        CHECK(*relied_until <= granted_at.time_since_epoch().count());
    static_cast<void>(client.withdraw(range, owner(2)));
    static_cast<void>(client.withdraw(range, owner(1)));
    return outcome;
}

} // namespace

TEST_CASE("a process that is stopped at any change costs nobody a lease, and no key has two holders", "[stop]")
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    auto const client = client_of(directory.path());
    auto const other = named_key("pool:1");
    auto const granted = expect<Granted>(client->claim(request_of(*client, other, 9, long_ttl)));
    auto const kept = claim_of(other, owner(9), granted);
    int stops = 0;
    int named = 0;
    for (auto const& request : requests) {
        INFO(request.name);
        int nth = 1;
        for (;; ++nth) {
            INFO("stopped before change " << nth);
            auto const outcome = stop_at(directory.path(), *client, request, nth);
            expect<Renewed>(client->renew(kept, long_ttl));
            if (!outcome.stopped)
                break;
            ++stops;
            named += outcome.named ? 1 : 0;
        }
        CHECK(nth > 1);
        WARN(request.name << ": stopped before each of " << nth - 1 << " changes");
    }
    CHECK(named > 0);
    WARN(stops << " stops, " << named << " of them inside a lock");
}

} // namespace tenure::test
