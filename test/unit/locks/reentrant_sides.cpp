// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ReentrantLock over the sides of a ReadWriteLock, and over a fair lock.
#include "harness/documented.hpp"
#include "unit/locks/reentrant_fixture.hpp"

#include <tenure/errc.hpp>
#include <tenure/read_write_lock.hpp>

#include <boost/asio/error.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <optional>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

constexpr Share as_reader{.weight = 1, .capacity = Share::all};
constexpr Share as_writer{.weight = Share::all, .capacity = Share::all};

/** A holder of both sides of a read-write lock. */
struct Sides : Reentrant {
    ReadWriteLock both{*store, {.key = "stock", .ttl = ttl}};
    ReentrantLock reading{both.read_lock()};
    ReentrantLock writing{both.write_lock()};
    ReentrantLock fair{*store, {.key = "stock", .ttl = ttl, .fair = true}};

    using Reentrant::ask;
    Attempt<ReentrantLease>& ask(ReentrantLock const& what, AcquireOptions const& options = {})
    {
        return ask(what, holder, options);
    }
    [[nodiscard]] std::optional<Share> claimed() const
    {
        REQUIRE_FALSE(backend->claims.empty());
        return backend->claims.front().request.share;
    }
    /** Refused at once, and nothing changes. */
    void is_deadlock(ReentrantLock const& what, AcquireOptions const& options = {})
    {
        auto const claims = backend->claims.size();
        CHECK(ask(what, options).error == make_error_code(errc::would_deadlock));
        CHECK(backend->claims.size() == claims);
        CHECK(documented(store->diagnostics().last_detail));
    }
};

} // namespace

TEST_CASE("a holder that reads may read again, also while a writer waits")
{
    Sides test;
    auto const& first = test.ask(test.reading);
    CHECK(test.claimed() == as_reader);
    test.grant_claim();
    // the writer of another holder
    auto const& writer = test.ask(test.writing, Holder(), {.wait = 60s});
    CHECK(test.claimed() == as_writer);
    test.refuse_claim();
    auto const& second = test.ask(test.reading);
    REQUIRE(second.error == error_code());
    CHECK(second.holding.fencing_token() == first.holding.fencing_token());
    CHECK(first.holding.depth() == 2);
    CHECK_FALSE(writer.error);
}

TEST_CASE("a holder that writes may read and write, with the token of its claim")
{
    Sides test;
    auto& first = test.ask(test.writing);
    CHECK(test.claimed() == as_writer);
    test.grant_claim();
    auto& read = test.ask(test.reading);
    auto& written = test.ask(test.writing);
    for (auto const* more : {&read, &written}) {
        REQUIRE(more->error == error_code());
        CHECK(more->holding.fencing_token() == first.holding.fencing_token());
        CHECK(more->holding.depth() == 3);
    }
    CHECK(test.backend->claims.empty());
    // the one that reads is the last one, and still as good as the writer's
    CHECK(test.release(first.holding).outcome == ReleaseOutcome::still_held);
    CHECK(test.release(written.holding).outcome == ReleaseOutcome::still_held);
    auto const& again = test.ask(test.writing);
    CHECK(again.error == error_code());
}

TEST_CASE("a holder that reads must not write")
{
    Sides test;
    auto& first = test.ask(test.reading);
    SECTION("while it waits for its claim")
    {
        test.is_deadlock(test.writing);
        test.grant_claim();
        CHECK(first.error == error_code());
    }
    SECTION("while it holds")
    {
        test.grant_claim();
        test.is_deadlock(test.writing);
        test.is_deadlock(test.writing, {.wait = 0ms});
        CHECK(first.holding.valid());
        CHECK(first.holding.depth() == 1);
    }
    SECTION("while it waits for the answer to the release of another lease")
    {
        test.grant_claim();
        (void)test.release(first.holding);
        auto const& second = test.ask(test.reading);
        test.is_deadlock(test.writing);
        test.answer_release(Released{});
        test.grant_claim();
        CHECK(second.error == error_code());
    }
    SECTION("until the last ReentrantLease has ended")
    {
        test.grant_claim();
        (void)test.release(first.holding);
        auto const& writer = test.ask(test.writing);
        CHECK_FALSE(writer.error);
        test.answer_release(Released{});
        CHECK(test.claimed() == as_writer);
        test.grant_claim();
        CHECK(writer.error == error_code());
    }
}

TEST_CASE("a holder that asks to write gets its readers in by the same claim")
{
    Sides test;
    auto& writer = test.ask(test.writing, {.wait = 10s});
    auto const shorter = GENERATE(true, false);
    auto& reader = test.ask(test.reading, {.wait = shorter ? 5s : 20s});
    for (auto const& claim : test.backend->claims)
        CHECK(claim.request.share == as_writer);
    SECTION("granted")
    {
        test.grant_claim();
        CHECK(writer.error == error_code());
        CHECK(reader.error == error_code());
        CHECK(reader.holding.fencing_token() == writer.holding.fencing_token());
    }
    SECTION("without the writer, whose wait is cancelled")
    {
        writer.cancel.emit(asio::cancellation_type::terminal);
        test.runtime->run_ready();
        CHECK(writer.error == make_error_code(asio::error::operation_aborted));
        test.grant_claim();
        REQUIRE(reader.error == error_code());
        CHECK(reader.holding.depth() == 1);
        // the claim was the writer's, and so is the lease
        CHECK(test.ask(test.writing).error == error_code());
    }
}

TEST_CASE("a late grant for reading does not serve a writer of the same holder")
{
    Sides test;
    auto& reader = test.ask(test.reading);
    reader.cancel.emit(asio::cancellation_type::terminal);
    test.runtime->run_ready();
    auto const& writer = test.ask(test.writing);
    REQUIRE(test.backend->claims.size() >= 1);
    CHECK(test.claimed() == as_reader);
    test.grant_claim();
    CHECK_FALSE(writer.error);
    test.answer_release(Released{});
    CHECK(test.claimed() == as_writer);
    test.grant_claim();
    REQUIRE(writer.error == error_code());
    CHECK(writer.holding.fencing_token() == 2);
}

TEST_CASE("a fair lock is re-entrant, and a plain lock of its key is another kind")
{
    Sides test;
    auto const& first = test.ask(test.fair);
    CHECK(test.claimed() == Share{.weight = 1, .capacity = 1});
    test.grant_claim();
    CHECK(test.ask(test.fair).holding.fencing_token() == first.holding.fencing_token());
    CHECK(first.holding.depth() == 2);
    // alone on the key, so it may read, too
    CHECK(test.ask(test.reading).error == error_code());
    test.is_deadlock(test.lock);
}

TEST_CASE("a plain lock that is held counts for no side")
{
    Sides test;
    (void)test.ask();
    test.grant_claim();
    test.is_deadlock(test.reading);
    test.is_deadlock(test.writing);
    test.is_deadlock(test.fair);
}

TEST_CASE("a loss is told before a deadlock")
{
    Sides test;
    auto& reader = test.ask(test.reading);
    test.grant_claim();
    test.lose();
    CHECK(test.ask(test.writing).error == make_error_code(errc::lease_lost));
    reader.holding = ReentrantLease();
    test.runtime->run_ready();
    test.answer_releases(NotOwner{});
    auto const& writer = test.ask(test.writing);
    CHECK_FALSE(writer.error);
    CHECK(test.claimed() == as_writer);
}

} // namespace tenure::test
