// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Log lines about a cause that concerns many leases or lasts for hours.
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/event.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

using Lines = std::vector<std::string>;

/** A store with leases of 3 s on k0, k1, ... that were granted now. */
struct HeldLeases : ScriptedStore {
    explicit HeldLeases(std::size_t count, EventHook hook = {})
    {
        StoreOptions options;
        options.on_event = std::move(hook);
        store.emplace(runtime, backend, std::move(options));
        runtime->run_ready();
        take(count);
    }

    void take(std::size_t count)
    {
        auto const first = attempts.size();
        for (std::size_t i = 0; i < count; ++i)
            attempts.emplace_back().start(
                Lock(*store, {.key = "k" + std::to_string(first + i), .ttl = 3s}), AcquireOptions{.wait = 1h});
        runtime->run_ready();
        while (!backend->claims.empty()) {
            backend->answer(backend->claims, grant(3s));
            runtime->run_ready();
        }
        for (auto const& attempt : attempts)
            REQUIRE(attempt.error == error_code());
    }

    /** Answers all renewals like this. */
    template <class Reply>
    void answer_renewals(Reply const& reply)
    {
        while (!backend->renewals.empty())
            backend->answer(backend->renewals, reply);
        runtime->run_ready();
    }

    /** The lines without the name of the store. */
    [[nodiscard]] Lines lines() const
    {
        Lines result;
        for (auto const& line : runtime->lines())
            result.push_back(line.text.substr(line.text.find(": ") + 2));
        return result;
    }

    std::deque<Attempt<Lease>> attempts;
};

Failure unavailable()
{
    return Failure::not_sent(make_error_code(errc::store_unavailable), "scripted://: connection refused");
}

} // namespace

TEST_CASE("10,000 leases that are lost together make four lines, the first one at once", "[log]")
{
    constexpr std::size_t count = 10'000;
    HeldLeases test(count);
    REQUIRE(test.runtime->run_while_not([&] { return !test.lines().empty(); }, 3s));
    CHECK(test.lines().front().starts_with("lease on k0 is at risk: a renewal failed or is unanswered; it remains"));
    test.runtime->run_for(3s);
    CHECK(test.store->statistics().lost[CancelReason::expired] == count);
    auto const lines = test.lines();
    REQUIRE(lines.size() == 4);
    CHECK(lines[1] == "leases at risk: 9999 more in 1 s (a renewal failed or is unanswered): k1, k2, k3, k4, k5, ...");
    CHECK(lines[2] == "lease on k0 is lost (no renewal succeeded in time): stop the work it covers");
    CHECK(
        lines[3] == "leases lost: 9999 more in 0 ms (no renewal succeeded in time): k1, k2, k3, k4, k5, ...; stop the "
                    "work that they cover");
}

TEST_CASE("events stay one per lease", "[log]")
{
    auto const mutex = std::make_shared<std::mutex>();
    auto const lost = std::make_shared<std::vector<std::string>>();
    HeldLeases test(100, [mutex, lost](Event const& event) {
        std::lock_guard const lock(*mutex);
        if (event.kind == Event::Kind::lost)
            lost->push_back(event.key);
    });
    test.runtime->run_for(4s);
    REQUIRE(flush_log(10s));
    std::lock_guard const lock(*mutex);
    CHECK(lost->size() == 100);
    CHECK(test.runtime->logged("lost") == 2);
}

TEST_CASE("leases of different causes are logged apart", "[log]")
{
    HeldLeases test(6);
    test.runtime->run_for(1s);
    REQUIRE(test.backend->renewals.size() == 6);
    for (int i = 0; i < 3; ++i)
        test.backend->answer(test.backend->renewals, NotOwner{});
    test.runtime->run_for(3s);
    auto const lines = test.lines();
    CHECK(std::ranges::count_if(lines, [](auto const& line) { return line.starts_with("lease on k0 is lost"); }) == 1);
    CHECK(std::ranges::count_if(lines, [](auto const& line) {
              return line.starts_with("leases lost: 2 more in 1 s");
          }) == 1);
    CHECK(std::ranges::count_if(lines, [](auto const& line) { return line.starts_with("lease on k3 is lost"); }) == 1);
    CHECK(std::ranges::count_if(lines, [](auto const& line) {
              return line.ends_with(": k4, k5; stop the work that they cover");
          }) == 1);
    CHECK(
        test.runtime->logged(
            ": k1, k2; stop the work that they cover; the keys were evicted, deleted or overwritten") == 1);
}

TEST_CASE("leases that are at risk and renewed again for hours make few lines", "[log]")
{
    HeldLeases test(20);
    auto const end = test.runtime->now() + 1h;
    while (test.runtime->now() < end) {
        test.runtime->run_for(1100ms);
        test.answer_renewals(unavailable());
        test.runtime->run_for(200ms);
        test.answer_renewals(Renewed{3s, test.runtime->now()});
    }
    CHECK(test.store->statistics().lost[CancelReason::expired] == 0);
    // at 0, 1, 10 and 60 s, and every 10 min
    CHECK(test.runtime->logged("at risk") == 9);
    CHECK(test.runtime->logged("renewed again") == 9);
}

TEST_CASE("counted leases keep no timer when nothing else is left", "[log]")
{
    HeldLeases test(0);
    auto const lose = [&](std::size_t count) {
        test.take(count);
        test.runtime->run_for(1s);
        REQUIRE(test.backend->renewals.size() == count);
        test.answer_renewals(NotOwner{});
    };
    lose(3);
    CHECK(test.runtime->logged("leases lost: 2 more in 0 ms (") == 1);
    lose(2);
    CHECK(test.runtime->logged("lease on k3 is lost") == 1);
    CHECK(test.runtime->logged("leases lost: 1 more in 0 ms (") == 1);
    // not again before its time, and until then without a timer
    lose(2);
    test.runtime->run_for(2s);
    CHECK(test.runtime->lines().size() == 4);
    CHECK(test.runtime->timers() == 0);
    SECTION("further work takes the timer up again")
    {
        test.take(1);
        for (int second = 0; second < 10; ++second) {
            test.runtime->run_for(1s);
            test.answer_renewals(Renewed{3s, test.runtime->now()});
        }
        CHECK(test.runtime->logged("leases lost: 2 more in 9 s (") == 1);
        CHECK(test.runtime->lines().size() == 5);
    }
    SECTION("the end of the store logs them")
    {
        test.attempts.clear();
        test.store.reset();
        test.runtime->run_for(2s);
        CHECK(test.runtime->logged("leases lost: 2 more in ") == 2);
    }
}

TEST_CASE("leases that were counted are logged when the store closes, and nothing after that", "[log]")
{
    HeldLeases test(4);
    test.runtime->run_for(1s);
    for (int i = 0; i < 3; ++i)
        test.backend->answer(test.backend->renewals, NotOwner{});
    test.runtime->run_ready();
    CHECK(test.runtime->logged("lost") == 1);
    test.store->async_close(0ms, [](error_code) {});
    test.runtime->run_ready();
    CHECK(test.runtime->logged("leases lost: 2 more in 0 ms") == 1);
    auto const lines = test.runtime->lines().size();
    test.attempts.clear();
    test.runtime->run_for(2h);
    CHECK(test.runtime->lines().size() == lines);
}

TEST_CASE("releases that the closing store cannot confirm make two lines", "[log]")
{
    HeldLeases test(1000);
    for (auto& attempt : test.attempts)
        attempt.holding = Lease();
    test.runtime->run_ready();
    test.store.reset();
    test.runtime->run_for(2s);
    CHECK(test.backend->shutdowns > 0);
    auto const lines = test.lines();
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "the release of k0 was not confirmed; the key expires after its ttl");
    CHECK(lines[1].starts_with("releases not confirmed: 999 more in "));
    CHECK(lines[1].ends_with(": k1, k2, k3, k4, k5, ...; the keys expire after their ttl"));
}

namespace
{

/** A store that fails all requests of a waiting acquisition, and when it logged that. */
struct Outage : HeldLeases {
    Outage()
        : HeldLeases(0)
    {
    }

    /** Answers all that is asked within this time. */
    template <class Reply>
    void answer_for(Clock::duration duration, Reply const& reply)
    {
        auto const end = runtime->now() + duration;
        while (runtime->now() < end) {
            while (!backend->claims.empty())
                backend->answer(backend->claims, reply);
            runtime->run_for(50ms);
            for (; seen < runtime->lines().size(); ++seen)
                if (runtime->lines()[seen].text.find("requests fail") != std::string::npos)
                    times.push_back(std::chrono::round<std::chrono::seconds>(runtime->now() - began));
        }
    }

    Instant began = runtime->now();
    std::size_t seen = 0;
    /// when it logged that requests fail, from `began`
    std::vector<std::chrono::seconds> times;
};

} // namespace

TEST_CASE("a store that is unavailable for two hours is logged after 1, 10 and 60 s and every 10 min", "[log]")
{
    Outage test;
    test.attempts.emplace_back().start(Lock(*test.store, {.key = "k", .ttl = 3s}), AcquireOptions{.wait = forever});
    test.runtime->run_ready();
    test.answer_for(2h, unavailable());
    std::vector<std::chrono::seconds> expected{1s, 10s, 60s};
    for (auto next = 60s + 10min; next < 2h; next += 10min)
        expected.emplace_back(next);
    REQUIRE(test.times.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i, test.times[i].count());
        // a request has to fail: the acquisition pauses between its claims
        CHECK(test.times[i] >= expected[i]);
        CHECK(test.times[i] < expected[i] + 60s);
    }
    CHECK(test.runtime->lines().size() == expected.size());
    CHECK(test.lines().front().starts_with("requests fail: connection refused; "));
    CHECK(test.lines().front().ends_with(" times in 1 s"));
}

TEST_CASE("the end of an outage is logged with its length when requests are answered", "[log]")
{
    HeldLeases test(2);
    for (int i = 0; i < 2; ++i) {
        test.runtime->run_for(1s);
        test.answer_renewals(unavailable());
    }
    CHECK(test.runtime->logged("requests fail: connection refused") == 2);
    CHECK(test.runtime->logged("answers again") == 0);
    test.runtime->run_for(100ms);
    test.answer_renewals(Renewed{3s, test.runtime->now()});
    // it may be another node that has answered
    CHECK(test.runtime->logged("answers again") == 0);
    test.runtime->run_for(1500ms);
    test.answer_renewals(Renewed{3s, test.runtime->now()});
    CHECK(test.runtime->logged("the store answers again after 1 s; failed requests: ") == 1);
}

TEST_CASE("an acquisition that fails once is for its caller to report", "[log]")
{
    Outage test;
    test.attempts.emplace_back().start(Lock(*test.store, {.key = "k", .ttl = 3s}), AcquireOptions{.wait = 0ms});
    test.runtime->run_ready();
    test.answer_for(5s, unavailable());
    CHECK(test.attempts.front().error == errc::store_unavailable);
    CHECK(test.lines().empty());
}

TEST_CASE("a refusal that concerns one key or user does not count as an outage", "[log]")
{
    HeldLeases test(2);
    for (int i = 0; i < 2; ++i) {
        test.runtime->run_for(1s);
        test.answer_renewals(Failure::refused(make_error_code(errc::permission_denied), "no permission", true));
    }
    CHECK(test.runtime->logged("requests fail") == 0);
}

TEST_CASE("a call that is refused again and again makes few lines", "[log]")
{
    HeldLeases test(0);
    Lock const lock(*test.store, {.key = "k", .ttl = 3s});
    auto const call = [&] {
        lock.async_acquire(AcquireOptions{.wait = -1ms}, [](error_code, Lease const&) {});
        test.runtime->run_ready();
    };
    for (int i = 0; i < 1000; ++i)
        call();
    CHECK(test.runtime->lines().size() == 1);
    test.runtime->run_for(1s);
    call();
    REQUIRE(test.runtime->lines().size() == 2);
    CHECK(test.lines().back() == "AcquireOptions::wait is -1 ms: 0 or more; 1001 times in 1 s");
}

} // namespace tenure::test
