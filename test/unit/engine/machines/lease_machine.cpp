// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "engine/machines/lease_machine.hpp"

#include <catch2/catch_test_macros.hpp>

namespace tenure::engine
{

using namespace std::chrono_literals;

namespace
{

Instant const granted_at = Instant{} + 1000s;
constexpr auto no_slack = Clock::duration::zero();

LeaseTerms terms_of(milliseconds ttl)
{
    return make_terms("test", ttl, LeaseOptions{}, backend::TtlLimits{});
}

LeaseMachine held(LeaseTerms const& terms)
{
    return {terms, granted_at, terms.ttl, granted_at};
}

} // namespace

TEST_CASE("validity counts from before the request, less drift and margin")
{
    auto const machine = LeaseMachine(terms_of(3s), granted_at, 3s, granted_at + 700ms);
    CHECK(machine.valid_until() == granted_at + 3000ms - 30ms - 10ms);
    CHECK(machine.fires_at() == machine.valid_until() - 300ms);
}

TEST_CASE("the notice is a tenth of the ttl, at least 20 ms, at most a third")
{
    CHECK(terms_of(10s).notice == 1s);
    CHECK(terms_of(150ms).notice == 20ms);
    LeaseOptions options;
    options.notice = 34ms;
    CHECK_THROWS_AS(make_terms("test", 100ms, options, backend::TtlLimits{}), std::invalid_argument);
}

TEST_CASE("a renewal is due at a third of the ttl, and leaves earlier only within the slack")
{
    auto machine = held(terms_of(3s));
    CHECK(machine.tick(granted_at + 999ms, no_slack).renew == 0);
    CHECK(machine.tick(granted_at + 900ms, 100ms).renew == 1);
}

TEST_CASE("a renewal is due at the interval that was asked for, longer or shorter than a third of the ttl")
{
    for (auto const interval : {100ms, 1900ms}) {
        LeaseOptions options;
        options.renew_interval = interval;
        auto machine = held(make_terms("test", 3s, options, backend::TtlLimits{}));
        auto now = granted_at;
        for (int i = 0; i < 3; ++i) {
            CHECK(machine.tick(now + interval - 1ms, no_slack).renew == 0);
            now += interval;
            auto const attempt = machine.tick(now, no_slack).renew;
            REQUIRE(attempt != 0);
            (void)machine.renewed(attempt, 3s, now, now, 0);
        }
    }
}

TEST_CASE("the longest interval between renewals leaves time for a second one where the first gets lost")
{
    for (auto const ttl : {100ms, 1000ms, 5000ms})
        for (auto const notice : {1ms, ttl / 3})
            for (std::uint64_t const random : {0U, 1023U}) {
                LeaseOptions options;
                options.notice = notice;
                // the greatest that is not refused
                auto interval = ttl * 3 / 4;
                auto const terms = [&] {
                    for (;; interval -= 1ms)
                        try {
                            options.renew_interval = interval;
                            return make_terms("test", ttl, options, backend::TtlLimits{});
                        } catch (std::invalid_argument const&) {
                            REQUIRE(interval > 1ms);
                        }
                }();
                CAPTURE(ttl, notice, random, interval);
                auto machine = held(terms);
                auto const lost = machine.tick(granted_at + interval, no_slack);
                REQUIRE(lost.renew != 0);
                // a store opens another connection after this time without an answer
                auto const now = granted_at + interval + Clock::duration(ttl) / 6;
                (void)machine.reachable(now);
                CHECK(machine.tick(now, no_slack).renew != 0);
                CHECK(machine.fires_at() - now >= Clock::duration(ttl) / 50);
            }
}

TEST_CASE("a renewal that keeps failing is asked a last time before the token is cancelled")
{
    for (std::uint64_t random = 0; random < 1024; random += 31) {
        CAPTURE(random);
        constexpr Clock::duration ttl = 5s;
        auto machine = held(terms_of(5s));
        auto step = machine.tick(granted_at, no_slack);
        auto now = granted_at;
        auto last = now;
        while (step.fire == CancelReason::none) {
            if (step.renew != 0) {
                last = now;
                step = machine.failed(step.renew, false, now, random);
                continue;
            }
            now = std::max(step.wake_at, now);
            step = machine.tick(now, no_slack);
        }
        CHECK(machine.fires_at() - last >= ttl / 20);
        CHECK(machine.fires_at() - last <= ttl / 12);
    }
}

TEST_CASE("a store that is away for a fifth of the ttl gets at most six renewals of a lease")
{
    for (milliseconds const ttl : {2s, 20s, 120s})
        for (std::uint64_t random = 0; random < 1024; random += 31) {
            CAPTURE(ttl, random);
            auto machine = held(terms_of(ttl));
            auto const begin = granted_at + ttl / 3;
            auto const back = begin + Clock::duration(ttl) / 5;
            auto renewals = 0;
            auto recovered = Instant::max();
            for (auto now = begin; recovered == Instant::max();) {
                auto step = machine.tick(now, no_slack);
                REQUIRE(step.fire == CancelReason::none);
                if (step.renew != 0 && now >= back)
                    recovered = now;
                else if (step.renew != 0) {
                    ++renewals;
                    step = machine.failed(step.renew, false, now, random);
                }
                now = std::max(step.wake_at, now);
            }
            CHECK(renewals >= 4);
            CHECK(renewals <= 6);
            CHECK(recovered - back <= Clock::duration(ttl) / 8);
        }
}

TEST_CASE("an unanswered renewal is repeated when a new connection works, and not by time")
{
    auto machine = held(terms_of(3s));
    auto const first = machine.tick(granted_at + 1s, no_slack).renew;
    REQUIRE(first != 0);
    for (auto now = granted_at + 1s; now < granted_at + 2s; now += 10ms)
        REQUIRE(machine.tick(now, no_slack).renew == 0);
    (void)machine.reachable(granted_at + 2s);
    auto const again = machine.tick(granted_at + 2s, no_slack);
    CHECK(again.renew == first + 1);
    CHECK(machine.tick(granted_at + 2s, no_slack).renew == 0);
    (void)machine.renewed(again.renew, 3s, granted_at + 2s, granted_at + 2100ms, 0);
    CHECK(machine.valid_until() == engine::valid_until(granted_at + 2s, 3s));
}

TEST_CASE("a new connection repeats a renewal only after its answer is overdue")
{
    auto machine = held(terms_of(3s));
    auto const first = machine.tick(granted_at + 1s, no_slack).renew;
    CHECK(machine.reachable(granted_at + 1100ms).wake_at == granted_at + 1500ms);
    SECTION("it stays unanswered")
    {
        CHECK(machine.tick(granted_at + 1499ms, no_slack).renew == 0);
        CHECK(machine.tick(granted_at + 1500ms, no_slack).renew == first + 1);
    }
    SECTION("it is answered before")
    {
        (void)machine.renewed(first, 3s, granted_at + 1s, granted_at + 1400ms, 0);
        CHECK(machine.tick(granted_at + 1500ms, no_slack).renew == 0);
    }
}

TEST_CASE("a new connection causes no renewal of a lease whose renewals were answered")
{
    auto machine = held(terms_of(3s));
    (void)machine.renewed(machine.tick(granted_at + 1s, no_slack).renew, 3s, granted_at + 1s, granted_at + 1s, 0);
    (void)machine.reachable(granted_at + 1100ms);
    CHECK(machine.tick(granted_at + 1100ms, no_slack).renew == 0);
}

TEST_CASE("a renewal that is answered moves validity to what its request's start allows")
{
    auto machine = held(terms_of(3s));
    auto const sent = granted_at + 1s;
    auto const attempt = machine.tick(sent, no_slack).renew;
    REQUIRE(attempt != 0);
    (void)machine.renewed(attempt, 3s, sent + 1ms, sent + 500ms, 0);
    CHECK(machine.valid_until() == engine::valid_until(sent + 1ms, 3s));
}

TEST_CASE("a failed or unanswered renewal never extends validity")
{
    auto machine = held(terms_of(3s));
    auto const until = machine.valid_until();
    auto const first = machine.tick(granted_at + 1s, no_slack).renew;
    (void)machine.failed(first, true, granted_at + 1001ms, 0);
    auto const second = machine.tick(granted_at + 1001ms, no_slack).renew;
    REQUIRE(second != 0);
    CHECK(machine.valid_until() == until);
    CHECK(machine.tick(until - 300ms, no_slack).fire == CancelReason::expired);
}

TEST_CASE("after the first failure it is asked again at once, then ever more slowly, but often enough")
{
    auto machine = held(terms_of(3s));
    auto now = granted_at + 1s;
    int asked = 0;
    auto last = now;
    auto longest = Clock::duration::zero();
    for (;;) {
        auto const step = machine.tick(now, no_slack);
        if (step.fire != CancelReason::none)
            break;
        if (step.renew != 0) {
            ++asked;
            longest = std::max(longest, now - last);
            last = now;
            auto const after = machine.failed(step.renew, false, now, 512);
            now = std::max(after.wake_at, now);
        } else {
            now = step.wake_at;
        }
    }
    CHECK(asked >= 8);
    CHECK(longest <= 400ms);
    CHECK(now == machine.fires_at());
}

TEST_CASE("an answer that is overdue by ttl/6 puts the lease at risk, and a success ends that")
{
    auto machine = held(terms_of(3s));
    auto const sent = granted_at + 1s;
    auto const attempt = machine.tick(sent, no_slack).renew;
    (void)machine.tick(sent + 499ms, no_slack);
    CHECK_FALSE(machine.at_risk());
    CHECK(machine.tick(sent + 500ms, no_slack).fire == CancelReason::none);
    CHECK(machine.at_risk());
    (void)machine.renewed(attempt, 3s, sent, sent + 501ms, 0);
    CHECK_FALSE(machine.at_risk());
    CHECK(machine.valid_until() == engine::valid_until(sent, 3s));
}

TEST_CASE("on request the token fires at the first renewal that fails or is overdue")
{
    LeaseOptions options;
    options.cancel_when = CancelWhen::first_failed_renewal;
    auto const terms = make_terms("test", 3s, options, backend::TtlLimits{});
    SECTION("failed")
    {
        auto machine = held(terms);
        auto const attempt = machine.tick(granted_at + 1s, no_slack).renew;
        CHECK(machine.failed(attempt, false, granted_at + 1s, 0).fire == CancelReason::first_failed_renewal);
    }
    SECTION("overdue")
    {
        auto machine = held(terms);
        REQUIRE(machine.tick(granted_at + 1s, no_slack).renew != 0);
        CHECK(machine.tick(granted_at + 1500ms, no_slack).fire == CancelReason::first_failed_renewal);
    }
}

TEST_CASE("a proven loss fires at once, and nothing is ever asked after the end")
{
    auto machine = held(terms_of(3s));
    auto const attempt = machine.tick(granted_at + 1s, no_slack).renew;
    CHECK(machine.disowned().fire == CancelReason::not_owner);
    CHECK(machine.disowned().fire == CancelReason::none);
    CHECK(machine.tick(granted_at + 2s, no_slack).renew == 0);
    CHECK(machine.renewed(attempt, 3s, granted_at + 1s, granted_at + 1100ms, 0).fire == CancelReason::none);
    CHECK(machine.renew_now(0ms, granted_at + 1200ms).renew == 0);
}

TEST_CASE("a renewal whose answer arrives after the token's instant fires instead of extending")
{
    auto machine = held(terms_of(3s));
    auto const attempt = machine.tick(granted_at + 1s, no_slack).renew;
    auto const late = machine.fires_at();
    CHECK(machine.renewed(attempt, 3s, granted_at + 1s, late, 0).fire == CancelReason::expired);
    CHECK(machine.valid_until() == engine::valid_until(granted_at, 3s));
}

TEST_CASE("a shorter ttl lowers validity before the request is written")
{
    auto machine = held(terms_of(10s));
    auto const step = machine.renew_now(1s, granted_at + 100ms);
    CHECK(step.renew != 0);
    CHECK(machine.valid_until() == engine::valid_until(granted_at + 100ms, 1s));
}

TEST_CASE("an answer to a request with an earlier, longer ttl does not raise validity again")
{
    auto machine = held(terms_of(10s));
    auto const longer = machine.renew_now(0ms, granted_at + 50ms).renew;
    (void)machine.renew_now(1s, granted_at + 100ms);
    (void)machine.renewed(longer, 10s, granted_at + 50ms, granted_at + 150ms, 0);
    CHECK(machine.valid_until() == engine::valid_until(granted_at + 100ms, 1s));
}

TEST_CASE("while a shorter renewal may still take effect, a longer one is not relied on beyond it")
{
    auto machine = held(terms_of(10s));
    auto const shorter = machine.renew_now(1s, granted_at + 100ms).renew;
    SECTION("it is unanswered")
    {
    }
    SECTION("its outcome is unknown")
    {
        (void)machine.failed(shorter, true, granted_at + 150ms, 0);
    }
    auto const longer = machine.renew_now(10s, granted_at + 200ms).renew;
    (void)machine.renewed(longer, 10s, granted_at + 200ms, granted_at + 210ms, 0);
    CHECK(machine.valid_until() == engine::valid_until(granted_at + 200ms, 1s));
}

TEST_CASE("of two renewals that were under way together, either may have taken effect last")
{
    auto machine = held(terms_of(3s));
    auto const shorter = machine.renew_now(1s, granted_at + 100ms).renew;
    auto const longer = machine.renew_now(5s, granted_at + 200ms).renew;
    SECTION("the shorter one is answered first")
    {
        (void)machine.renewed(shorter, 1s, granted_at + 100ms, granted_at + 300ms, 0);
        (void)machine.renewed(longer, 5s, granted_at + 200ms, granted_at + 400ms, 0);
    }
    SECTION("the longer one is answered first")
    {
        (void)machine.renewed(longer, 5s, granted_at + 200ms, granted_at + 300ms, 0);
    }
    CHECK(machine.valid_until() == engine::valid_until(granted_at + 200ms, 1s));
    // and it is renewed while that lasts, not when a third of the longer ttl has passed
    CHECK(machine.tick(granted_at + 200ms + 334ms, no_slack).renew != 0);
}

TEST_CASE("a renewal that was sent after the answer to a shorter one counts in full")
{
    auto machine = held(terms_of(3s));
    auto const shorter = machine.renew_now(1s, granted_at + 100ms).renew;
    (void)machine.renewed(shorter, 1s, granted_at + 100ms, granted_at + 150ms, 0);
    auto const longer = machine.renew_now(5s, granted_at + 200ms).renew;
    (void)machine.renewed(longer, 5s, granted_at + 200ms, granted_at + 300ms, 0);
    CHECK(machine.valid_until() == engine::valid_until(granted_at + 200ms, 5s));
}

TEST_CASE("while a claim may still set the ttl anew, a longer one is not relied on beyond it")
{
    auto machine = held(terms_of(1s));
    machine.expect_claim(1s);
    auto const longer = machine.renew_now(5s, granted_at + 100ms).renew;
    (void)machine.renewed(longer, 5s, granted_at + 100ms, granted_at + 110ms, 0);
    CHECK(machine.valid_until() == engine::valid_until(granted_at + 100ms, 1s));
    CHECK(machine.tick(granted_at + 100ms + 334ms, no_slack).renew != 0);
}

TEST_CASE("max_hold ends a lease however well the store answers")
{
    LeaseOptions options;
    options.max_hold = 5s;
    auto machine = held(make_terms("test", 3s, options, backend::TtlLimits{}));
    auto now = granted_at;
    for (;;) {
        auto const step = machine.tick(now, no_slack);
        if (step.fire != CancelReason::none) {
            CHECK(step.fire == CancelReason::max_hold);
            break;
        }
        if (step.renew != 0)
            now = machine.renewed(step.renew, 3s, now, now, 0).wake_at;
        else
            now = step.wake_at;
    }
    CHECK(now == granted_at + 5s);
}

TEST_CASE("max_hold may be as long as its type allows")
{
    LeaseOptions options;
    options.max_hold = milliseconds::max();
    auto machine = held(make_terms("test", 3s, options, backend::TtlLimits{}));
    CHECK(machine.fires_at() == machine.valid_until() - 300ms);
    CHECK(machine.fires_because() == CancelReason::expired);
    CHECK(machine.tick(granted_at, no_slack).fire == CancelReason::none);
}

TEST_CASE("an answer counts unless another ttl was asked for since")
{
    auto machine = held(terms_of(3s));
    auto const before = machine.tick(granted_at + 1s, no_slack);
    auto const after = machine.renew_now(5s, granted_at + 1100ms);
    REQUIRE(before.renew != 0);
    CHECK_FALSE(machine.renewed(before.renew, 3s, granted_at + 1s, granted_at + 1200ms, 0).renewed);
    CHECK(machine.renewed(after.renew, 5s, granted_at + 1100ms, granted_at + 1200ms, 0).renewed);
}

TEST_CASE("a manual lease renews only on request")
{
    LeaseOptions options;
    options.renewal = Renewal::manual;
    auto machine = held(make_terms("test", 3s, options, backend::TtlLimits{}));
    CHECK(machine.tick(granted_at + 2s, no_slack).renew == 0);
    auto const attempt = machine.renew_now(0ms, granted_at + 2s).renew;
    CHECK(attempt != 0);
    (void)machine.renewed(attempt, 3s, granted_at + 2s, granted_at + 2s, 0);
    CHECK(machine.fires_at() == granted_at + 2s + 3s - 40ms - 300ms);
    CHECK(machine.tick(machine.fires_at(), no_slack).fire == CancelReason::expired);
}

TEST_CASE("a store that grants less than was asked for counts with what it granted")
{
    auto const machine = LeaseMachine(terms_of(10s), granted_at, 4s, granted_at);
    CHECK(machine.valid_until() == engine::valid_until(granted_at, 4s));
    CHECK(machine.granted_ttl() == 4s);
}

TEST_CASE("the store may keep a claim for as long as the longest of the renewals that were under way together")
{
    auto machine = held(terms_of(3s));
    auto const longer = machine.renew_now(10s, granted_at + 10ms).renew;
    auto const shorter = machine.renew_now(2s, granted_at + 20ms).renew;
    (void)machine.renewed(longer, 10s, granted_at + 10ms, granted_at + 30ms, 0);
    (void)machine.renewed(shorter, 2s, granted_at + 20ms, granted_at + 40ms, 0);
    // their order at the store is unknown
    CHECK(machine.granted_ttl() == 2s);
    CHECK(machine.longest_ttl() == 10s);
    // one that is alone settles it
    auto const alone = machine.renew_now(2s, granted_at + 50ms).renew;
    (void)machine.renewed(alone, 2s, granted_at + 50ms, granted_at + 60ms, 0);
    CHECK(machine.longest_ttl() == 2s);
}

TEST_CASE("the store may keep a claim for as long as a renewal without an answer asked for")
{
    auto machine = held(terms_of(3s));
    auto const lost = machine.renew_now(10s, granted_at + 10ms).renew;
    (void)machine.failed(lost, true, granted_at + 20ms, 0);
    auto const next = machine.renew_now(2s, granted_at + 30ms).renew;
    (void)machine.renewed(next, 2s, granted_at + 30ms, granted_at + 40ms, 0);
    CHECK(machine.granted_ttl() == 2s);
    CHECK(machine.longest_ttl() == 10s);
}

TEST_CASE("bad durations are refused by name, value and rule")
{
    auto const message = [](milliseconds ttl, LeaseOptions const& options) {
        try {
            (void)make_terms("LockConfig", ttl, options, backend::TtlLimits{});
        } catch (std::invalid_argument const& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    CHECK(message(99ms, {}) == "LockConfig::ttl is 99 ms: this store allows 100 ms to 86400000 ms");
    CHECK(message(0ms, {}).starts_with("LockConfig::ttl is 0 ms"));
    CHECK(message(-1ms, {}).starts_with("LockConfig::ttl is -1 ms"));
    CHECK(message(25h, {}).starts_with("LockConfig::ttl is 90000000 ms"));
    CHECK(message(100ms, {}) == "accepted");
    LeaseOptions slow;
    slow.renew_interval = 1911ms;
    CHECK(message(3s, slow).starts_with(
        "LockConfig::lease.renew_interval is 1911 ms: more than 0, and at most 1910 ms for a ttl"));
    slow.renew_interval = 1910ms;
    CHECK(message(3s, slow) == "accepted");
    LeaseOptions negative;
    negative.max_hold = -1ms;
    CHECK(message(3s, negative).starts_with("LockConfig::lease.max_hold is -1 ms"));
    for (auto const pause : {-1ms, 0ms, 9ms, 60'001ms}) {
        LeaseOptions paused;
        paused.max_poll_interval = pause;
        CHECK(
            message(3s, paused) == "LockConfig::lease.max_poll_interval is " + std::to_string(pause.count()) +
                                       " ms: must be from 10 ms to 60000 ms");
    }
    for (auto const pause : {10ms, 60'000ms}) {
        LeaseOptions paused;
        paused.max_poll_interval = pause;
        CHECK(make_terms("LockConfig", 3s, paused, backend::TtlLimits{}).max_poll_interval == pause);
    }
}

} // namespace tenure::engine
