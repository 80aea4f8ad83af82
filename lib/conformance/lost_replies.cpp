// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Lost replies: requests arrive, but their replies do not. For stores behind a connection.
#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace tenure::conformance
{

using namespace std::chrono_literals;

namespace
{

/** A client that is connected, and then loses every answer until it is healed. */
struct BadLine {
    Conformance test;
    std::unique_ptr<Client> client = bad_client();
    std::optional<ClaimReply> claimed;

    BadLine()
    {
        // wherever the keys are, the scripts are known there, and what a claim of this ttl needs is at hand: otherwise
        // it is another answer that gets lost
        for (auto const& range : {test.lock("lock"), test.pool("pool:", 3)})
            expect<Released>(client->release(test.take(*client, range, 99)));
    }

    [[nodiscard]] std::unique_ptr<Client> bad_client() const
    {
        return std::make_unique<Client>([this](std::shared_ptr<Runtime> runtime) {
            auto backend = test.subject->connect_badly(std::move(runtime));
            if (backend == nullptr)
                SKIP("no reply of this store can be lost");
            return backend;
        });
    }

    void heal_until(std::function<bool()> const& answered) const
    {
        test.subject->heal();
        client->run_until(answered);
    }

    /** A pool, or a lock where a pool takes several steps. */
    [[nodiscard]] KeyRangePtr range() const
    {
        return test.subject->claims_in_one_step() ? test.pool("pool:", 3) : test.lock("pool:0");
    }

    /** The claim arrives, and its answer never does. */
    void lose_claim(KeyRangePtr const& range, std::string const& who, std::string const& key)
    {
        test.subject->lose_replies();
        client->on_strand([&] {
            client->backend().claim(test.request(*client, range, who, Conformance::long_ttl), [this](ClaimReply reply) {
                claimed = std::move(reply);
            });
        });
        client->run_until([&] { return test.value(key) == who; });
        CHECK_FALSE(claimed);
        heal_until([&] { return claimed.has_value(); });
        // connections to several servers are reset one after the other: the next request must come after the last reset
        client->run_for(50ms);
    }
};

} // namespace

TEST_CASE("a claim whose answer is lost is unknown, and asking again finds the same key", "[lost-replies][claim]")
{
    BadLine line;
    auto const range = line.range();
    auto const earliest = line.client->now();
    line.lose_claim(range, owner(1), "pool:0");
    expect_unknown(*line.claimed);

    auto again = line.test.request(*line.client, range, owner(1), Conformance::long_ttl);
    again.earliest_attempt = earliest;
    auto const granted = expect<Granted>(line.client->claim(again));
    CHECK(granted.index == 0);
    CHECK(granted.since >= earliest - line.test.subject->head_start());
    CHECK(granted.fencing_token != 0);
    CHECK_FALSE(line.test.value("pool:1"));
}

TEST_CASE("a claim whose answer is lost can be withdrawn", "[lost-replies][withdraw]")
{
    BadLine line;
    auto const range = line.range();
    line.lose_claim(range, owner(1), "pool:0");
    expect_unknown(*line.claimed);
    expect<Released>(line.client->withdraw(range, owner(1)));
    CHECK_FALSE(line.test.value("pool:0"));
}

TEST_CASE(
    "a release whose answer is lost is unknown, and asking again proves that the key is not ours",
    "[lost-replies][release]")
{
    BadLine line;
    auto const range = line.test.lock("lock");
    auto const claim = line.test.take(*line.client, range, 1);
    line.test.subject->lose_replies();
    std::optional<ReleaseReply> released;
    line.client->on_strand([&] {
        line.client->backend().release(
            {claim, line.client->now() + 10s, true}, [&](ReleaseReply reply) { released = std::move(reply); });
    });
    bool const in_one_step = line.test.subject->releases_in_one_step();
    if (in_one_step)
        line.client->run_until([&] { return !line.test.value("lock"); });
    else
        line.client->run_for(100ms);
    CHECK_FALSE(released);
    line.heal_until([&] { return released.has_value(); });
    if (in_one_step) {
        expect_unknown(*released);
        expect<NotOwner>(line.client->release(claim));
    } else {
        CHECK_FALSE(std::holds_alternative<Released>(*released));
        CHECK(line.test.value("lock") == claim->owner);
        expect<Released>(line.client->release(claim));
    }
}

TEST_CASE("a detachment whose answer is lost is unknown, and done when it is asked again", "[lost-replies][detach]")
{
    BadLine line;
    if (line.client->backend().capabilities().no_detach != nullptr)
        SKIP(line.client->backend().capabilities().no_detach);
    auto const range = line.test.lock("lock");
    auto const claim = line.test.take(*line.client, range, 1);
    line.test.subject->lose_replies();
    std::optional<ReleaseReply> detached;
    line.client->on_strand([&] {
        // without a time, because some stores are asked for that first
        line.client->backend().release(
            {claim, line.client->now() + 10s, true, 0ms}, [&](ReleaseReply reply) { detached = std::move(reply); });
    });
    line.client->run_until([&] { return line.test.value("lock") == "kept/" + owner(1); });
    CHECK_FALSE(detached);
    line.heal_until([&] { return detached.has_value(); });
    expect_unknown(*detached);
    line.client->run_for(50ms);
    for (auto const keep_for : {0ms, Conformance::long_ttl}) {
        ReleaseRequest const again{claim, line.client->now() + 10s, true, keep_for};
        expect<Released>(line.client->ask_together(&Backend::release, std::vector{again}).front());
    }
    CHECK(line.test.value("lock") == "kept/" + owner(1));
}

TEST_CASE("a renewal without an answer is no renewal", "[lost-replies][renew]")
{
    BadLine line;
    auto const range = line.test.lock("lock");
    auto const claim = line.test.take(*line.client, range, 1);
    line.test.subject->lose_replies();
    std::optional<RenewReply> renewed;
    line.client->on_strand([&] {
        renew_one(
            line.client->backend(), {claim, Conformance::long_ttl, line.client->now() + 10s},
            [&](RenewReply reply) { renewed = std::move(reply); });
    });
    line.client->run_for(100ms);
    CHECK_FALSE(renewed);
    line.heal_until([&] { return renewed.has_value(); });
    expect_unknown(*renewed);
    line.client->run_until(
        [&] { return std::holds_alternative<Renewed>(line.client->renew(claim, Conformance::long_ttl)); });
}

} // namespace tenure::conformance
