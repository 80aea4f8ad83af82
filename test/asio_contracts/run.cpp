// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Cancellation of a run of work.
#include "unit/code_of.hpp"
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/run.hpp>
#include <tenure/slot_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <exception>
#include <optional>

namespace asio = boost::asio;
using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

using Type = asio::cancellation_type;

/** A run of work over a scripted store. The work lasts until its lease ends or a terminal cancellation. */
struct Running : ScriptedStore {
    Running()
    {
        async_run(
            pool, [this](Slot& slot) { return work(*this, slot.token()); },
            asio::bind_cancellation_slot(
                cancel.slot(), [this](std::exception_ptr failure) { result = code_of(failure); }));
        runtime->run_ready();
    }
    ~Running()
    {
        cancel.emit(Type::terminal);
        runtime->run_ready();
        answer_releases(Released{});
    }

    /** Gives the run its lease. */
    void grant_claim()
    {
        REQUIRE(backend->claims.size() == 1);
        auto const rounds_before = rounds;
        backend->answer(backend->claims, grant(ttl));
        runtime->run_ready();
        REQUIRE(rounds == rounds_before + 1);
    }
    void send(Type type)
    {
        cancel.emit(type);
        runtime->run_ready();
    }
    /** The next renewal finds that the key has gone. */
    void lose()
    {
        refuse_renewal(ttl);
        answer_releases(NotOwner{});
    }

    static asio::awaitable<void> work(Running& self, CancellationToken token)
    {
        ++self.rounds;
        if (self.drains)
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
        co_await token.async_wait(asio::deferred);
    }

    static constexpr std::chrono::milliseconds ttl{3000};
    asio::cancellation_signal cancel;
    std::optional<error_code> result;
    /// how often the work began
    int rounds = 0;
    /// the work ends on cancellation_type::total
    bool drains = false;
    SlotPool pool{*store, {.size = 1, .ttl = ttl}};
};

} // namespace

TEST_CASE("cancellation_type::none neither ends a run of work nor its next round")
{
    Running test;
    test.send(Type::none);
    test.grant_claim();
    test.send(Type::none);
    CHECK_FALSE(test.result);
    test.lose();
    CHECK_FALSE(test.result);
    test.grant_claim();
}

TEST_CASE("every type of cancellation but none ends a run of work that waits for a lease")
{
    Running test;
    test.send(GENERATE(Type::total, Type::partial, Type::terminal, Type::all));
    CHECK(test.result == error_code(asio::error::operation_aborted));
}

TEST_CASE("cancellation_type::total is left to work that runs, and the run goes on after a loss")
{
    Running test;
    test.grant_claim();
    test.send(Type::total);
    CHECK_FALSE(test.result);
    test.lose();
    CHECK_FALSE(test.result);
    test.grant_claim();
    test.send(Type::terminal);
    test.backend->answer(test.backend->releases, Released{});
    test.runtime->run_ready();
    CHECK(test.result == error_code(asio::error::operation_aborted));
}

TEST_CASE("work that drains ends its run on cancellation_type::total")
{
    Running test;
    test.drains = true;
    test.grant_claim();
    test.send(Type::total);
    REQUIRE(test.backend->releases.size() == 1);
    test.backend->answer(test.backend->releases, Released{});
    test.runtime->run_ready();
    CHECK(test.result == error_code(asio::error::operation_aborted));
}

TEST_CASE("a run of work that was cancelled while its work ran acquires no further lease")
{
    auto const type = GENERATE(Type::partial, Type::all);
    Running test;
    test.grant_claim();
    test.send(type);
    if (type == Type::partial) {
        CHECK_FALSE(test.result);
        test.lose();
    } else {
        test.backend->answer(test.backend->releases, Released{});
        test.runtime->run_ready();
    }
    CHECK(test.result == error_code(asio::error::operation_aborted));
    CHECK(test.backend->claims.empty());
}
