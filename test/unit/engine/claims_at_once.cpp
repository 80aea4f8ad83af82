// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// How many claims are under way at once.
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>

#include <boost/asio/error.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <iterator>
#include <list>
#include <string>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

constexpr std::size_t at_once = 1024;

/** Acquisitions of locks of their own, all begun in one turn of the loop. */
struct ManyAtOnce {
    explicit ManyAtOnce(std::size_t count, std::chrono::milliseconds wait = 5s)
    {
        for (std::size_t i = 0; i < count; ++i) {
            auto& attempt = attempts.emplace_back();
            attempt.start(Lock(*test.store, {.key = "key " + std::to_string(i), .ttl = 3s}), {.wait = wait});
        }
        test.runtime->run_ready();
    }

    /// outlive what calls their handlers
    std::list<Attempt<Lease>> attempts;
    ScriptedStore test;
};

} // namespace

TEST_CASE("of many acquisitions that begin at once 1,024 claim, and others as answers come")
{
    ManyAtOnce many(at_once + 3);
    auto& [attempts, test] = many;
    REQUIRE(test.backend->claims.size() == at_once);
    test.backend->answer(test.backend->claims, test.grant(3s));
    test.runtime->run_ready();
    REQUIRE(test.backend->claims.size() == at_once);
    CHECK(test.backend->claims.back().request.range->prefix == "key 1024");
    CHECK(attempts.front().holding.valid());
}

TEST_CASE("a store that does not answer holds up further claims for 10 ms")
{
    ManyAtOnce many(3 * at_once);
    auto& test = many.test;
    test.runtime->run_for(9ms);
    CHECK(test.backend->claims.size() == at_once);
    test.runtime->run_for(1ms);
    CHECK(test.backend->claims.size() == 2 * at_once);
    test.runtime->run_for(10ms);
    CHECK(test.backend->claims.size() == 3 * at_once);
}

TEST_CASE("an acquisition that is cancelled before its claim sends none")
{
    ManyAtOnce many(at_once + 2);
    auto& [attempts, test] = many;
    auto& second_to_last = *std::prev(attempts.end(), 2);
    second_to_last.cancel.emit(asio::cancellation_type::terminal);
    test.runtime->run_ready();
    CHECK(second_to_last.error == asio::error::operation_aborted);
    test.backend->answer(test.backend->claims, test.grant(3s));
    test.runtime->run_ready();
    CHECK(test.backend->claims.back().request.range->prefix == "key 1025");
    CHECK(test.backend->withdrawals.empty());
}

TEST_CASE("an acquisition whose wait is over before its claim ends as unavailable, and claims nothing")
{
    ManyAtOnce many(at_once + 1, 5ms);
    auto& [attempts, test] = many;
    test.runtime->run_for(20ms);
    CHECK(attempts.back().error == errc::store_unavailable);
    CHECK(
        test.store->diagnostics().last_detail ==
        "key 1024: not claimed, because many claims had no answer, within 5 ms");
    CHECK(test.backend->claims.size() == at_once);
}

} // namespace tenure::test
