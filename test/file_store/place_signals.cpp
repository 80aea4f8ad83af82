// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process that is killed or stopped before any of its changes of places: those of others keep their order, and its
// own is gone when it has ended.
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

/** Sends a signal to a process before its nth change. It is not raised if the request has fewer changes. */
[[nodiscard]] Forked
signalled(std::string const& directory, KeyRangePtr const& range, Request const& request, int nth, int signal)
{
    return {directory, [&, nth, signal](Client& client) -> std::int64_t {
                auto const act = request.prepare(client, range);
                AtPoints const raise(raise_before_change(nth, signal));
                act();
                return 0;
            }};
}

using Numbers = std::map<unsigned, std::uint64_t>;

/** Takes the places of the owners 1 to 3. */
[[nodiscard]] Numbers take_places(Client& client, KeyRangePtr const& range, Request const& request)
{
    Numbers numbers{{1, number_of(ask(client, range, 1, request.first_ttl))}};
    for (unsigned number = 2; number < 4; ++number)
        numbers[number] = number_of(ask(client, range, number));
    CHECK(numbers[1] < numbers[2]);
    CHECK(numbers[2] < numbers[3]);
    return numbers;
}

/** The places that are left are those of `numbers`; each is granted on its old number when it is the first. A claim
 * after all of them has a greater number, which it returns. */
std::uint64_t grant_each(Client& client, KeyRangePtr const& range, Numbers const& numbers, unsigned may_be_gone)
{
    auto const state = expect<std::vector<KeyState>>(client.inspect(range)).at(0);
    std::map<std::uint64_t, bool> live;
    for (auto const& place : state.places)
        live[place.fencing_token] = place.holds;
    REQUIRE_FALSE(live.empty());
    CHECK(live.begin()->second);
    std::uint64_t last = 0;
    for (auto const& [number, place] : numbers) {
        last = place;
        if (!live.contains(place)) {
            CHECK(number == may_be_gone);
            continue;
        }
        CHECK(live.begin()->first == place);
        CHECK(expect<Granted>(ask(client, range, number)).fencing_token == place);
        expect<Released>(client.withdraw(range, owner(number)));
        live.erase(place);
    }
    CHECK(live.empty());
    auto const next = expect<Granted>(ask(client, range, 5)).fencing_token;
    CHECK(next > last);
    return next;
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
            auto const numbers = take_places(*client, range, request);
            killed = !signalled(directory.path(), range, request, nth, SIGKILL).result();
            kills += killed ? 1 : 0;
            INFO("killed before change " << nth);
            auto const before = client->now();
            auto const next = grant_each(*client, range, numbers, request.may_be_gone);
            CHECK(next > last_number);
            last_number = next;
            CHECK(client->now() - before < 100ms);
        }
        CHECK(nth > 2);
        WARN(request.name << ": killed before each of " << nth - 2 << " changes");
    }
    WARN(kills << " kills");
}

TEST_CASE("a process that is stopped at any change of places delays others only until it continues", "[stop][places]")
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    auto const client = client_of(directory.path());
    unsigned keys = 0;
    int stops = 0;
    int named = 0;
    for (auto const& request : requests()) {
        INFO(request.name);
        int nth = 1;
        for (;; ++nth) {
            INFO("stopped before change " << nth);
            auto const range = shared_key("key" + std::to_string(keys++));
            auto numbers = take_places(*client, range, request);
            auto process = signalled(directory.path(), range, request, nth, SIGSTOP);
            bool const stopped = process.stops();
            if (!stopped)
                break;
            ++stops;
            // a new claim waits behind the others, or its error names the stopped process
            auto reply = ask(*client, range, 4);
            if (auto const* const failure = std::get_if<Failure>(&reply)) {
                ++named;
                CHECK(failure->error == errc::store_unavailable);
                CHECK(failure->detail.find("pid " + std::to_string(process.pid()) + ", stopped") != std::string::npos);
            } else {
                CHECK(std::holds_alternative<Busy>(reply));
            }
            process.resume();
            REQUIRE(process.result());
            numbers[4] = number_of(ask(*client, range, 4));
            CHECK(numbers[4] > numbers[3]);
            grant_each(*client, range, numbers, request.may_be_gone);
        }
        CHECK(nth > 1);
        WARN(request.name << ": stopped before each of " << nth - 1 << " changes");
    }
    CHECK(named > 0);
    WARN(stops << " stops, " << named << " of them inside a lock");
}

} // namespace tenure::test
