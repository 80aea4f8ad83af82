// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Lost replies: requests arrive, but their replies do not. For stores behind a connection.
#include "fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenure::conformance
{

using namespace std::chrono_literals;

namespace
{

/** A client that is connected, and then loses every answer until it is healed. */
struct BadLine {
    Conformance test;
    std::unique_ptr<Client> client = bad_client();

    BadLine()
    {
        // wherever the keys are, the scripts are known there, and what a claim of this ttl needs is at hand: otherwise
        // it is another answer that gets lost
        for (auto const& range : {test.lock("lock"), test.pool("pool:", 3)})
            expect<Released>(client->release(test.take(*client, range, 99)));
        // the announcement behind a release is answered, too
        expect<Ready>(client->ready());
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

    /** Begins a request whose answer is lost, and heals the line once `arrive` returns. @returns the answer */
    template <class Reply, class Begin, class Arrive>
    [[nodiscard]] Reply lose(Begin const& begin, Arrive const& arrive) const
    {
        test.subject->lose_replies();
        std::optional<Reply> reply;
        client->on_strand([&] { begin(client->backend(), [&](Reply answer) { reply = std::move(answer); }); });
        arrive();
        CHECK_FALSE(reply);
        test.subject->heal();
        client->run_until([&] { return reply.has_value(); });
        return std::move(*reply);
    }

    /** A pool, or a lock where a pool takes several steps. */
    [[nodiscard]] KeyRangePtr range() const
    {
        return test.subject->claims_in_one_step() ? test.pool("pool:", 3) : test.lock("pool:0");
    }

    /** The claim arrives, and its answer never does. */
    [[nodiscard]] ClaimReply lose_claim(KeyRangePtr const& range, std::string const& who, std::string const& key) const
    {
        auto claimed = lose<ClaimReply>(
            [&](Backend& backend, auto handler) {
                backend.claim(test.request(*client, range, who, Conformance::long_ttl), std::move(handler));
            },
            [&] { client->run_until([&] { return test.value(key) == who; }); });
        // connections to several servers are reset one after the other: the next request must come after the last reset
        client->run_for(50ms);
        return claimed;
    }
};

} // namespace

TEST_CASE("a claim whose answer is lost is unknown, and asking again finds the same key", "[lost-replies][claim]")
{
    BadLine line;
    auto const range = line.range();
    auto const earliest = line.client->now();
    expect_unknown(line.lose_claim(range, owner(1), "pool:0"));

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
    expect_unknown(line.lose_claim(range, owner(1), "pool:0"));
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
    bool const in_one_step = line.test.subject->releases_in_one_step();
    auto const released = line.lose<ReleaseReply>(
        [&](Backend& backend, auto handler) {
            backend.release({claim, line.client->now() + 10s, true}, std::move(handler));
        },
        [&] {
            if (in_one_step)
                line.client->run_until([&] { return !line.test.value("lock"); });
            else
                line.client->run_for(100ms);
        });
    if (in_one_step) {
        expect_unknown(released);
        expect<NotOwner>(line.client->release(claim));
    } else {
        CHECK_FALSE(std::holds_alternative<Released>(released));
        CHECK(line.test.value("lock") == claim->owner);
        expect<Released>(line.client->release(claim));
    }
}

TEST_CASE("a detachment whose answer is lost is unknown, and done when it is asked again", "[lost-replies][detach]")
{
    BadLine line;
    if (line.client->backend().capabilities().no_detach != nullptr)
        SKIP(line.client->backend().capabilities().no_detach);
    // a server that knows the request needs no second one, whose answer would be lost
    ReleaseRequest const known{
        line.test.take(*line.client, line.test.lock("known"), 1), line.client->now() + 10s, true, 0ms};
    expect<Released>(line.client->ask_together(&Backend::release, std::vector{known}).front());
    auto const range = line.test.lock("lock");
    auto const claim = line.test.take(*line.client, range, 1);
    expect_unknown(line.lose<ReleaseReply>(
        [&](Backend& backend, auto handler) {
            // without a time, because some stores are asked for that first
            backend.release({claim, line.client->now() + 10s, true, 0ms}, std::move(handler));
        },
        [&] { line.client->run_until([&] { return line.test.value("lock") == "kept/" + owner(1); }); }));
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
    expect_unknown(line.lose<RenewReply>(
        [&](Backend& backend, auto handler) {
            renew_one(backend, {claim, Conformance::long_ttl, line.client->now() + 10s}, std::move(handler));
        },
        [&] { line.client->run_for(100ms); }));
    line.client->run_until(
        [&] { return std::holds_alternative<Renewed>(line.client->renew(claim, Conformance::long_ttl)); });
}

TEST_CASE("a lost answer to the claim of a share costs no place and leaves no second one", "[lost-replies][shares]")
{
    BadLine line;
    if (line.client->backend().capabilities().no_shares != nullptr)
        SKIP(line.client->backend().capabilities().no_shares);
    auto const range = shared_key(line.test.key("shared"));
    auto const other = line.test.client();
    std::vector<Place> places;
    // the other client may have to connect anew, because it does nothing while this one waits
    auto const has_places = [&](std::size_t count) {
        auto const reply = other->inspect(range);
        auto const* const states = std::get_if<std::vector<KeyState>>(&reply);
        if (states != nullptr)
            places = states->at(0).places;
        return states != nullptr && places.size() == count;
    };
    auto const request = [&](Client& client, unsigned number) {
        auto claim = line.test.request(client, range, owner(number), Conformance::long_ttl);
        claim.share = Share();
        claim.waits = Waits::in_line;
        return claim;
    };
    auto const first = claim_of(range, owner(1), expect<Granted>(other->claim(request(*other, 1))));
    auto const earliest = line.client->now();
    expect_unknown(line.lose<ClaimReply>(
        [&](Backend& backend, auto handler) { backend.claim(request(*line.client, 2), std::move(handler)); },
        [&] { line.client->run_until([&] { return has_places(2); }); }));
    line.client->run_for(50ms);
    auto again = request(*line.client, 2);
    again.earliest_attempt = earliest;
    auto const place = expect<Busy>(line.client->claim(again)).place;
    REQUIRE(place);
    CHECK(place->number == places.at(1).fencing_token);
    expect_unknown(line.lose<ClaimReply>(
        [&](Backend& backend, auto handler) { backend.claim(again, std::move(handler)); },
        [&] { line.client->run_for(100ms); }));
    line.client->run_for(50ms);
    expect<Released>(other->release(first));
    auto const granted = expect<Granted>(line.client->claim(again));
    CHECK(granted.fencing_token == place->number);
    auto const held = claim_of(range, owner(2), granted);
    expect_unknown(line.lose<ReleaseReply>(
        [&](Backend& backend, auto handler) {
            backend.release({held, line.client->now() + 10s, true}, std::move(handler));
        },
        [&] { line.client->run_until([&] { return has_places(0); }); }));
    line.client->run_for(50ms);
    expect<NotOwner>(line.client->release(held));
}

} // namespace tenure::conformance
