// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Operations of a ReentrantLease beyond counting, and of an empty ReentrantLease.
#include "unit/code_of.hpp"
#include "unit/in_child.hpp"
#include "unit/locks/reentrant_fixture.hpp"

#include <tenure/lease_like.hpp>
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

static_assert(LeaseLike<ReentrantLease>);
static_assert(!std::is_copy_constructible_v<ReentrantLease>);

TEST_CASE("an empty ReentrantLease is not valid, its token counts as cancelled, and its operations end")
{
    asio::io_context context;
    ReentrantLease hold;
    CHECK(hold.empty());
    CHECK_FALSE(hold.valid());
    CHECK(hold.state() == LeaseState::released);
    CHECK(hold.depth() == 0);
    CHECK(hold.key().empty());
    CHECK(hold.owner().empty());
    CHECK_FALSE(hold.has_fencing_token());
    CHECK_THROWS_AS(hold.fencing_token(), std::logic_error);
    CHECK(hold.token().cancelled());
    CHECK(hold.token().reason() == CancelReason::released);
    std::vector<error_code> errors;
    auto const here = [&](auto handler) { return asio::bind_executor(context.get_executor(), std::move(handler)); };
    hold.async_release(here([&](error_code error, ReleaseOutcome) { errors.push_back(error); }));
    hold.async_renew(here([&](error_code error) { errors.push_back(error); }));
    hold.async_wait_at_risk(here([&](error_code error) { errors.push_back(error); }));
    CHECK(errors.empty());
    context.run();
    CHECK(errors == std::vector(3, make_error_code(errc::released)));
}

TEST_CASE("operations of a released ReentrantLease end, and those of the others go on")
{
    Reentrant test;
    auto& first = test.ask();
    test.grant_claim();
    auto& second = test.ask();
    std::optional<error_code> at_risk;
    second.holding.async_wait_at_risk([&](error_code error) { at_risk = error; });
    test.release(first.holding);
    std::vector<error_code> errors;
    first.holding.async_renew([&](error_code error) { errors.push_back(error); });
    first.holding.async_wait_at_risk([&](error_code error) { errors.push_back(error); });
    test.runtime->run_ready();
    CHECK(errors == std::vector(2, make_error_code(errc::released)));
    CHECK(test.backend->renewals.empty());
    CHECK_FALSE(at_risk);
    std::optional<error_code> renewed;
    second.holding.async_renew([&](error_code error) { renewed = error; });
    test.runtime->run_ready();
    REQUIRE(test.backend->renewals.size() == 1);
    test.backend->answer(test.backend->renewals, Renewed{Reentrant::ttl, test.runtime->now()});
    test.runtime->run_ready();
    CHECK(renewed == error_code());
    test.release(second.holding);
    CHECK(at_risk == make_error_code(errc::released));
}

TEST_CASE("a child of fork has no ReentrantLease, is given none, and leaves the parent's alone")
{
    Reentrant test;
    auto& first = test.ask();
    test.grant_claim();
    auto const& waiting = test.ask(Holder());
    check_in_child([&] {
        bool right = !first.holding.valid() && first.holding.state() == LeaseState::released;
        auto const& again = test.ask();
        right = right && again.error == errc::forked;
        auto const& ending = test.release(first.holding);
        right = right && ending.error == errc::forked;
        first.holding = ReentrantLease();
        // a holder of the parent's is of no use in the child with a store of the child's own
        ScriptedStore own;
        std::optional<error_code> error;
        ReentrantLock(*own.store, {.key = "stock"})
            .async_acquire(test.holder, [&](error_code why, ReentrantLease const&) { error = why; });
        own.runtime->run_ready();
        right = right && error == errc::forked;
        error.reset();
        test.holder.async_acquire(
            Lock(*own.store, {.key = "stock"}), [&](error_code why, Lease const&) { error = why; });
        own.runtime->run_ready();
        right = right && error == errc::forked && own.backend->claims.empty();
        return right;
    });
    CHECK(first.holding.valid());
    CHECK_FALSE(waiting.error);
    CHECK(test.backend->releases.empty());
}

TEST_CASE("a store that is being closed waits for the last ReentrantLease")
{
    Reentrant test;
    auto& first = test.ask();
    test.grant_claim();
    std::optional<error_code> closed;
    test.store->async_close(10s, [&](error_code error) { closed = error; });
    test.runtime->run_ready();
    // a further acquisition asks for nothing, and lets work come to its end
    auto& second = test.ask();
    CHECK(second.holding.depth() == 2);
    CHECK(test.ask(Holder()).error == make_error_code(errc::closed));
    test.release(first.holding);
    CHECK_FALSE(closed);
    test.release(second.holding);
    test.answer_release(Released{});
    CHECK(closed == error_code());
}

TEST_CASE("with_lease and async_run hold a ReentrantLock around their work, also one within the other")
{
    asio::io_context context;
    auto const store =
        open_store(context.get_executor(), MemoryConfig{}, {.worker_name = "worker", .log = silent_log_sink()});
    ReentrantLock const lock(store, {.key = "stock", .ttl = 3s});
    Holder const holder;
    std::vector<std::uint32_t> depths;
    auto const inner = [&](ReentrantLease& hold) -> asio::awaitable<void> {
        depths.push_back(hold.depth());
        co_return;
    };
    auto const outer = [&](ReentrantLease& hold) -> asio::awaitable<void> {
        depths.push_back(hold.depth());
        auto again = co_await lock.async_acquire(holder, asio::deferred);
        co_await async_with_lease(std::move(again), inner, asio::deferred);
        depths.push_back(hold.depth());
    };
    std::optional<error_code> ended;
    async_run(lock.for_holder(holder), outer, [&](std::exception_ptr const& failure) { ended = code_of(failure); });
    while (!ended && context.run_one_for(10s) > 0) {
    }
    CHECK(ended == error_code());
    CHECK(depths == std::vector<std::uint32_t>{1, 2, 1});
    CHECK(store.statistics().released == 1);
}

TEST_CASE("async_run acquires the lock anew after a loss, unless the holder has other Holds of the lost lease")
{
    asio::io_context context;
    auto const store =
        open_store(context.get_executor(), MemoryConfig{}, {.worker_name = "worker", .log = silent_log_sink()});
    ReentrantLock const lock(store, {.key = "stock", .ttl = 300ms});
    Holder const holder;
    bool const nested = GENERATE(false, true);
    ReentrantLease outer;
    int runs = 0;
    auto const work = [&](ReentrantLease&) -> asio::awaitable<void> {
        if (++runs == 1) {
            if (nested)
                outer = co_await lock.async_acquire(holder, asio::deferred);
            auto const seen = co_await store.async_inspect(lock.range());
            co_await store.async_evict(seen.at(0), "test", asio::deferred);
            asio::steady_timer never(co_await asio::this_coro::executor, 1h);
            co_await never.async_wait(asio::deferred);
        }
    };
    std::optional<error_code> ended;
    async_run(lock.for_holder(holder), work, [&](std::exception_ptr const& failure) { ended = code_of(failure); });
    while (!ended && context.run_one_for(10s) > 0) {
    }
    CHECK(ended == (nested ? make_error_code(errc::lease_lost) : error_code()));
    CHECK(runs == (nested ? 1 : 2));
}

TEST_CASE("holders and Holds may be used from many threads at a time")
{
    constexpr int holders = 3;
    constexpr int users = 4;
    constexpr int rounds = 300;
    asio::thread_pool threads{4};
    // how many Holds each holder has, as its users count them
    std::array<std::atomic<int>, holders> held{};
    std::atomic<int> mistakes{0};
    std::atomic<int> done{0};
    {
        auto const store =
            open_store(threads.get_executor(), MemoryConfig{}, {.worker_name = "worker", .log = silent_log_sink()});
        ReentrantLock const lock(store, {.key = "stock", .ttl = 10s});
        auto const use = [&held, &mistakes,
                          &done](ReentrantLock of, Holder holder, std::size_t number) -> asio::awaitable<void> {
            for (int round = 0; round < rounds; ++round) {
                auto hold = co_await of.async_acquire(holder, asio::deferred);
                ++held.at(number);
                for (std::size_t other = 0; other < held.size(); ++other)
                    if (other != number && held.at(other) != 0)
                        ++mistakes;
                auto again = co_await of.async_acquire(holder, asio::deferred);
                if (again.fencing_token() != hold.fencing_token() || hold.depth() < 2)
                    ++mistakes;
                --held.at(number);
                if (round % 2 == 0)
                    co_await hold.async_release(asio::deferred);
            }
            ++done;
        };
        for (std::size_t number = 0; number < holders; ++number) {
            Holder const holder;
            for (int user = 0; user < users; ++user)
                asio::co_spawn(threads, use(lock, holder, number), [&](std::exception_ptr const& failure) {
                    if (failure)
                        ++mistakes;
                });
        }
        while (done + mistakes < holders * users) {
            ::usleep(1000);
        }
    }
    threads.join();
    CHECK(done == holders * users);
    CHECK(mistakes == 0);
}

} // namespace tenure::test
