// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process that is killed before any of its changes of places: those of others keep their order, and its own is gone.
#include "forked.hpp"
#include "harness/scratch_directory.hpp"
#include "system_calls.hpp"

#include <tenure/conformance/expect.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tenure::test
{

using namespace conformance;
using namespace std::chrono_literals;

namespace
{

constexpr auto ttl = 30s;
constexpr auto brief = 100ms;

ClaimReply ask(Client& client, KeyRangePtr const& range, unsigned number, std::chrono::milliseconds for_ttl = ttl)
{
    ClaimRequest request{range, owner(number), for_ttl, client.now() + 10s, true, client.now()};
    request.share = Share{};
    request.waits = Waits::in_line;
    return client.claim(request);
}

std::uint64_t number_of(ClaimReply const& reply)
{
    auto const* const granted = std::get_if<Granted>(&reply);
    return granted ? granted->fencing_token : expect<Busy>(reply).place.value().number;
}

/** A request whose changes are counted. The test has the places of the owners 1 to 3, and owner 1 holds. */
struct Request {
    char const* name;
    /// prepares it; returns the request itself
    std::function<std::function<void()>(Client&, KeyRangePtr const&)> prepare;
    /// the ttl of the first place
    std::chrono::milliseconds first_ttl = ttl;
    /// an owner who may have lost the place by the request
    unsigned may_be_gone = 0;
};

std::vector<Request> requests()
{
    auto const asks = [](Client& client, KeyRangePtr const& range) {
        return [&client, range] { static_cast<void>(ask(client, range, 9)); };
    };
    return {
        {"new place", asks},
        {"later claim of a place",
         [](Client& client, KeyRangePtr const& range) {
             static_cast<void>(ask(client, range, 9));
             return [&client, range] { static_cast<void>(ask(client, range, 9)); };
         }},
        {"claim that finds a lapsed place",
         [asks](Client& client, KeyRangePtr const& range) {
             client.run_for(brief + 10ms);
             return asks(client, range);
         },
         brief, 1},
        {"withdrawal of a holder",
         [](Client& client, KeyRangePtr const& range) {
             return [&client, range] { static_cast<void>(client.withdraw(range, owner(1))); };
         },
         ttl, 1},
        {"withdrawal of a waiter",
         [](Client& client, KeyRangePtr const& range) {
             return [&client, range] { static_cast<void>(client.withdraw(range, owner(2))); };
         },
         ttl, 2},
        {"eviction of a waiter",
         [](Client& client, KeyRangePtr const& range) {
             return [&client, range] { static_cast<void>(client.evict(range, 0, owner(2))); };
         },
         ttl, 2},
    };
}

/** Kills a process before its nth change. False: the request has fewer changes. */
bool kill_at(std::string const& directory, KeyRangePtr const& range, Request const& request, int nth)
{
    Forked process(directory, [&](Client& client) -> std::int64_t {
        auto const act = request.prepare(client, range);
        int changes = 0;
        AtPoints const kill([&](Point point) {
            if (point == Point::change && ++changes == nth)
                ::raise(SIGKILL);
        });
        act();
        return 0;
    });
    return !process.result();
}

} // namespace

TEST_CASE("a process that is killed at any change of places leaves those of others in order", "[kill][places]")
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    auto const client = client_of(directory.path());
    std::uint64_t last_number = 0;
    unsigned keys = 0;
    int kills = 0;
    for (auto const& request : requests()) {
        INFO(request.name);
        int nth = 1;
        for (bool killed = true; killed; ++nth) {
            auto const range = shared_key("key" + std::to_string(keys++));
            std::map<unsigned, std::uint64_t> numbers{{1, number_of(ask(*client, range, 1, request.first_ttl))}};
            for (unsigned number = 2; number < 4; ++number)
                numbers[number] = number_of(ask(*client, range, number));
            CHECK(numbers[1] < numbers[2]);
            CHECK(numbers[2] < numbers[3]);
            killed = kill_at(directory.path(), range, request, nth);
            kills += killed ? 1 : 0;
            INFO("killed before change " << nth);
            auto const before = client->now();
            auto const state = expect<std::vector<KeyState>>(client->inspect(range)).at(0);
            std::map<std::uint64_t, bool> live;
            for (auto const& place : state.places)
                live[place.fencing_token] = place.holds;
            REQUIRE_FALSE(live.empty());
            CHECK(live.begin()->second);
            for (unsigned number = 1; number < 4; ++number) {
                if (!live.contains(numbers[number])) {
                    CHECK(number == request.may_be_gone);
                    continue;
                }
                // the first of those that live holds, and is granted on its old number
                CHECK(live.begin()->first == numbers[number]);
                CHECK(expect<Granted>(ask(*client, range, number)).fencing_token == numbers[number]);
                expect<Released>(client->withdraw(range, owner(number)));
                live.erase(numbers[number]);
            }
            CHECK(live.empty());
            auto const next = expect<Granted>(ask(*client, range, 4)).fencing_token;
            CHECK(next > numbers[3]);
            CHECK(next > last_number);
            last_number = next;
            CHECK(client->now() - before < 100ms);
        }
        CHECK(nth > 2);
        WARN(request.name << ": killed before each of " << nth - 2 << " changes");
    }
    WARN(kills << " kills");
}

} // namespace tenure::test
