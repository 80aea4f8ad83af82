// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Order::checked: what a holder asks for is compared with what it holds, before the store is asked.
#include "harness/documented.hpp"
#include "unit/scripted_store.hpp"

#include <tenure/errc.hpp>
#include <tenure/holder.hpp>
#include <tenure/reentrant_lock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;

namespace
{

/** A holder, and every claim is granted. */
struct Ordered : ScriptedStore {
    explicit Ordered(Order order = Order::checked)
        : holder({.order = order})
    {
    }

    Holder holder;
    std::vector<ReentrantLease> holds;
    std::vector<Lease> leases;

    template <class Begin>
    error_code answer(Begin begin)
    {
        std::optional<error_code> result;
        begin(result);
        runtime->run_ready();
        if (!backend->claims.empty())
            backend->answer(backend->claims, grant(3s));
        runtime->run_ready();
        return result.value();
    }
    error_code reenter(std::string const& key)
    {
        return answer([&](auto& result) {
            ReentrantLock(*store, {.key = key, .ttl = 3s})
                .async_acquire(holder, [&](error_code error, ReentrantLease hold) {
                    result = error;
                    holds.push_back(std::move(hold));
                });
        });
    }
    error_code lock(std::string const& key)
    {
        return answer([&](auto& result) {
            holder.async_acquire(Lock(*store, {.key = key, .ttl = 3s}), [&](error_code error, Lease lease) {
                result = error;
                leases.push_back(std::move(lease));
            });
        });
    }
    /** By a re-entrant lock or by a plain one. */
    error_code acquire(bool reentrant, std::string const& key) { return reentrant ? reenter(key) : lock(key); }
    void let_go()
    {
        holds.clear();
        leases.clear();
        runtime->run_ready();
        while (!backend->releases.empty()) {
            backend->answer(backend->releases, Released{});
            runtime->run_ready();
        }
    }
    [[nodiscard]] std::string words() const { return store->diagnostics().last_detail; }
};

} // namespace

TEST_CASE("a key below one that the holder holds is out of order, and both are named")
{
    Ordered test;
    bool const first = GENERATE(true, false);
    bool const second = GENERATE(true, false);
    CAPTURE(first, second);
    REQUIRE_FALSE(test.acquire(first, "b"));
    CHECK_FALSE(test.acquire(second, "c"));
    auto const error = test.acquire(second, "a");
    CHECK(error == errc::out_of_order);
    CHECK(error == condition::misconfigured);
    CHECK(documented(test.words()));
    CHECK(test.runtime->logged(test.words()) == 1);
    CHECK(test.store->statistics().acquired == 2);
    // nothing stands in the way once they are released
    test.let_go();
    CHECK_FALSE(test.acquire(second, "a"));
}

TEST_CASE("keys are compared bytewise")
{
    Ordered test;
    REQUIRE_FALSE(test.reenter("a\x7f"));
    CHECK_FALSE(test.reenter("a\xc3\xa4"));
    CHECK(test.reenter("a") == errc::out_of_order);
    CHECK(test.reenter("B") == errc::out_of_order);
}

TEST_CASE("a key that the holder has can be acquired again, whatever else it holds")
{
    Ordered test;
    REQUIRE_FALSE(test.reenter("a"));
    REQUIRE_FALSE(test.reenter("b"));
    CHECK_FALSE(test.reenter("a"));
    CHECK(test.holds.back().depth() == 2);
}

TEST_CASE("a holder that asks by a Lock for what it holds would wait for itself")
{
    Ordered test;
    bool const by_hold = GENERATE(true, false);
    REQUIRE_FALSE(test.acquire(by_hold, "a"));
    auto const error = test.lock("a");
    CHECK(error == errc::would_deadlock);
    CHECK(error == condition::misconfigured);
    CHECK(documented(test.words()));
    CHECK(test.runtime->logged(test.words()) == 1);
    test.let_go();
    CHECK_FALSE(test.lock("a"));
}

TEST_CASE("a holder that asks by a ReentrantLock for what it holds by a Lock would wait for itself")
{
    Ordered test;
    REQUIRE_FALSE(test.lock("a"));
    CHECK(test.reenter("a") == errc::would_deadlock);
    test.let_go();
    CHECK_FALSE(test.reenter("a"));
}

TEST_CASE("a holder that asks by a Lock for what it has lost is told so")
{
    Ordered test;
    REQUIRE_FALSE(test.reenter("a"));
    test.runtime->skip(3s);
    CHECK(test.lock("a") == errc::lease_lost);
    CHECK(documented(test.words()));
    // a key that a Lock has lost is not held
    test.let_go();
    REQUIRE_FALSE(test.lock("b"));
    test.runtime->skip(3s);
    CHECK_FALSE(test.lock("a"));
}

TEST_CASE("a holder that does not check refuses nothing")
{
    Ordered test(Order::unchecked);
    REQUIRE_FALSE(test.reenter("b"));
    CHECK_FALSE(test.reenter("a"));
    CHECK_FALSE(test.lock("a"));
}

TEST_CASE("holders and stores do not disturb each other's order")
{
    Ordered test;
    REQUIRE_FALSE(test.reenter("b"));
    Ordered other;
    std::swap(test.holder, other.holder);
    CHECK_FALSE(test.reenter("a"));
    std::swap(test.holder, other.holder);
    // the holder of "b" asks another store
    std::swap(test.holder, other.holder);
    CHECK_FALSE(other.reenter("a"));
    test.let_go();
    other.let_go();
}

} // namespace tenure::test
