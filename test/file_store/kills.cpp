// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process that is killed before any of its changes of files: what it held is free, and the store goes on.
#include "forked.hpp"
#include "harness/scratch_directory.hpp"
#include "system_calls.hpp"

#include <tenure/conformance/expect.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <unistd.h>

namespace tenure::test
{

using namespace conformance;
using namespace std::chrono_literals;

namespace
{

constexpr auto ttl = 30s;

ClaimRequest request_of(Client const& client, KeyRangePtr range, unsigned number)
{
    return {std::move(range), owner(number), ttl, client.now() + 10s, true, std::nullopt};
}

ClaimPtr take(Client& client, KeyRangePtr const& range, unsigned number, std::chrono::milliseconds reuse_after = 0ms)
{
    auto request = request_of(client, range, number);
    request.reuse_after = reuse_after;
    auto const granted = expect<Granted>(client.claim(request));
    auto claim = std::make_shared<Claim>();
    claim->range = range;
    claim->owner = owner(number);
    claim->index = granted.index;
    claim->handle = granted.handle;
    claim->reuse_after = reuse_after;
    return claim;
}

/** A request whose changes are counted. */
struct Request {
    char const* name;
    /// prepares it; returns the request itself
    std::function<std::function<void()>(Client&, KeyRangePtr const&)> prepare;
    /// it leaves the key taken for some time
    bool leaves_taken = false;
};

std::vector<Request> requests()
{
    return {
        {"claim",
         [](Client& client, KeyRangePtr const& range) {
             return [&client, range] { static_cast<void>(client.claim(request_of(client, range, 1))); };
         }},
        {"renewal",
         [](Client& client, KeyRangePtr const& range) {
             return [&client, claim = take(client, range, 1)] { static_cast<void>(client.renew(claim, ttl)); };
         }},
        {"release",
         [](Client& client, KeyRangePtr const& range) {
             return [&client, claim = take(client, range, 1)] { static_cast<void>(client.release(claim)); };
         }},
        {"release into quarantine",
         [](Client& client, KeyRangePtr const& range) {
             return [&client, claim = take(client, range, 1, 20ms)] { static_cast<void>(client.release(claim)); };
         },
         true},
        {"withdrawal",
         [](Client& client, KeyRangePtr const& range) {
             static_cast<void>(take(client, range, 1));
             return [&client, range] { static_cast<void>(client.withdraw(range, owner(1))); };
         }},
        {"eviction",
         [](Client& client, KeyRangePtr const& range) {
             static_cast<void>(take(client, range, 1));
             return [&client, range] { static_cast<void>(client.evict(range, 0, owner(1))); };
         }},
        {"sweep",
         [](Client& client, KeyRangePtr const&) {
             leave_litter(client.backend().describe().substr(std::string("file://").size()));
             return [&client] {
                 // a claim clears a little away
                 for (unsigned number = 5; number < 9; ++number)
                     static_cast<void>(client.claim(request_of(client, named_key("other"), number)));
             };
         }},
    };
}

/** Kills a process before its nth change. False: the request has fewer changes. */
bool kill_at(std::string const& directory, KeyRangePtr const& range, Request const& request, int nth)
{
    Forked process(directory, [&](Client& client) -> std::int64_t {
        auto const ask = request.prepare(client, range);
        AtPoints const kill(raise_before_change(nth, SIGKILL));
        ask();
        return 0;
    });
    return !process.result();
}

/** How long after the death of a holder of so much memory a waiter has its key. */
std::chrono::duration<double, std::milli> time_to_take_over(std::size_t megabytes)
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    auto const range = named_key("lock");
    Forked holder(directory.path(), [&](Client& client) -> std::int64_t {
        std::vector<char> const memory(megabytes << 20U, 'x');
        static_cast<void>(take(client, range, 1));
        client.run_for(1h);
        return 0;
    });
    auto const client = client_of(directory.path());
    bool told = false;
    std::unique_ptr<Watch> watch;
    client->on_strand([&] {
        watch = client->backend().watch(
            range, WatchAs::waiter, [&](WatchEvent event) { told = told || event == WatchEvent::hint; });
    });
    auto const claim = [&] {
        auto request = request_of(*client, range, 2);
        request.waits = Waits::in_line;
        return client->claim(request);
    };
    client->run_until(
        [&] {
            client->run_for(5ms);
            auto const reply = claim();
            if (std::holds_alternative<Granted>(reply))
                static_cast<void>(client->withdraw(range, owner(2)));
            return std::holds_alternative<Busy>(reply);
        },
        30s);
    told = false;
    auto const killed = client->now();
    holder.kill();
    client->run_until([&] { return told; });
    expect<Granted>(claim());
    std::chrono::duration<double, std::milli> const taken = client->now() - killed;
    client->on_strand([&] { watch.reset(); });
    expect<Released>(client->withdraw(range, owner(2)));
    WARN(megabytes << " MB: granted after " << taken.count() << " ms");
    return taken;
}

} // namespace

TEST_CASE("a process that is killed at any change leaves its key free, and tokens rise", "[kill]")
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    auto const range = numbered_keys("pool:", 2);
    auto const client = client_of(directory.path());
    std::uint64_t last_token = 0;
    int kills = 0;
    for (auto const& request : requests()) {
        INFO(request.name);
        int nth = 1;
        for (; kill_at(directory.path(), range, request, nth); ++nth) {
            ++kills;
            INFO("killed before change " << nth);
            auto const before = client->now();
            // the quarantine of a killed holder begins at the end of its ttl
            if (request.leaves_taken) {
                CHECK_FALSE(std::holds_alternative<Failure>(client->claim(request_of(*client, range, 2))));
                static_cast<void>(client->withdraw(range, owner(1)));
                static_cast<void>(client->withdraw(range, owner(2)));
                client->run_for(30ms);
                continue;
            }
            for (unsigned number = 2; number < 4; ++number) {
                auto const granted = expect<Granted>(client->claim(request_of(*client, range, number)));
                CHECK(granted.index == number - 2);
                if (granted.index == 0) {
                    CHECK(granted.fencing_token > last_token);
                    last_token = granted.fencing_token;
                }
            }
            CHECK(client->now() - before < 100ms);
            for (unsigned number = 2; number < 4; ++number)
                expect<Released>(client->withdraw(range, owner(number)));
        }
        CHECK(nth > 1);
        WARN(request.name << ": killed before each of " << nth - 1 << " changes");
        client->run_for(30ms); // the quarantine of the request that was not killed
    }
    WARN(kills << " kills");
}

TEST_CASE("a waiter gets the key of a killed holder within 100 ms", "[kill]")
{
    CHECK(time_to_take_over(0) < 100ms);
    CHECK(time_to_take_over(100) < 100ms);
}

// Not run by ctest: the kernel frees 4 GB first.
TEST_CASE("a waiter gets the key of a killed holder of 4 GB", "[.][large]")
{
    CHECK(time_to_take_over(4096) < 5s);
}

TEST_CASE("a forked child of the holder does not keep the key of its dead parent", "[kill][fork]")
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    auto const range = named_key("lock");
    Forked holder(directory.path(), [&](Client& client) -> std::int64_t {
        static_cast<void>(take(client, range, 1));
        if (::fork() == 0) {
            ::prctl(PR_SET_PDEATHSIG, 0);
            ::alarm(3);
            for (;;)
                ::pause();
        }
        ::raise(SIGKILL);
        return 0;
    });
    REQUIRE_FALSE(holder.stops());
    auto const client = client_of(directory.path());
    auto const before = client->now();
    client->run_until(
        [&] { return std::holds_alternative<Granted>(client->claim(request_of(*client, range, 2))); }, 1s);
    CHECK(client->now() - before < 100ms);
}

TEST_CASE("a holder file that stays open does not keep a key beyond its ttl", "[kill][fork]")
{
    ScratchDirectory const directory{ScratchDirectory::Place::memory};
    auto const range = named_key("lock");
    auto const holder = client_of(directory.path());
    auto request = request_of(*holder, range, 1);
    request.ttl = 100ms;
    expect<Granted>(holder->claim(request));
    auto const client = client_of(directory.path());
    expect<Busy>(client->claim(request_of(*client, range, 2)));
    client->run_for(110ms);
    expect<Granted>(client->claim(request_of(*client, range, 2)));
}

} // namespace tenure::test
