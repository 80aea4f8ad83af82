// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// MultiLock of fair locks and of sides of a read-write lock.
#include <tenure/tenure.hpp>
#include <tenure/testing.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure
{

namespace asio = boost::asio;

using namespace std::chrono_literals;

namespace
{

/** Two processes with fair locks `a` and `c`, and a read-write lock `b`. */
struct SharesTest {
    struct One {
        std::optional<error_code> error;
        Lease lease;
        LeaseSet set;
        asio::cancellation_signal cancel;
    };

    testing::VirtualTime time;
    testing::SimulatedStore server{time};
    Store store = server.open("here");
    Store elsewhere = server.open("elsewhere");
    std::list<One> all;

    [[nodiscard]] static Lock fair(Store const& at, std::string key)
    {
        return {at, {.key = std::move(key), .ttl = 3s, .fair = true}};
    }
    [[nodiscard]] static ReadWriteLock both(Store const& at) { return {at, {.key = "b", .ttl = 3s}}; }
    [[nodiscard]] MultiLock locks() const
    {
        return MultiLock({fair(store, "c"), both(store).read_lock(), fair(store, "a")});
    }

    One& take(Lock const& lock, AcquireOptions const& options = {.wait = 60s})
    {
        auto& one = all.emplace_back();
        lock.async_acquire(options, [&one](error_code error, Lease lease) {
            one.error = error;
            one.lease = std::move(lease);
        });
        time.run_ready();
        return one;
    }
    One& take(MultiLock const& locks, AcquireOptions const& options = {.wait = 60s})
    {
        auto& one = all.emplace_back();
        locks.async_acquire(
            options, asio::bind_cancellation_slot(one.cancel.slot(), [&one](error_code error, LeaseSet set) {
                one.error = error;
                one.set = std::move(set);
            }));
        time.run_ready();
        return one;
    }
    /** Ends the lease. */
    void end(One& one)
    {
        one.lease = Lease();
        time.run_for(5ms);
    }
    [[nodiscard]] std::size_t places(std::string const& key)
    {
        std::optional<std::size_t> number;
        elsewhere.async_inspect(shared_key(key), [&](error_code, std::vector<KeyState> const& states) {
            number = states.empty() ? 0 : states.front().places.size();
        });
        time.run_ready();
        REQUIRE(number);
        return *number;
    }
    [[nodiscard]] std::vector<std::size_t> places() { return {places("a"), places("b"), places("c")}; }
};

using Places = std::vector<std::size_t>;

} // namespace

TEST_CASE("a set of fair locks and sides is held together, and its readers share with others")
{
    SharesTest test;
    auto& set = test.take(test.locks());
    REQUIRE(set.error == error_code());
    CHECK(set.set.valid());
    CHECK(test.places() == Places{1, 1, 1});
    CHECK(test.take(SharesTest::both(test.elsewhere).read_lock()).error == error_code());
    CHECK_FALSE(test.take(SharesTest::both(test.elsewhere).write_lock()).error);
    CHECK_FALSE(test.take(SharesTest::fair(test.elsewhere, "a")).error);
}

TEST_CASE("a set waits with a place, keeps what comes before it, and nothing behind it")
{
    SharesTest test;
    auto& writer = test.take(SharesTest::both(test.elsewhere).write_lock());
    auto& next = test.take(SharesTest::both(test.elsewhere).write_lock());
    auto& set = test.take(test.locks());
    CHECK_FALSE(set.error);
    // the holder, the other writer of the same process waits behind it in that process, and this set
    CHECK(test.places() == Places{1, 3, 0});
    // c is free for others meanwhile
    auto& other = test.take(SharesTest::fair(test.elsewhere, "c"));
    CHECK(other.error == error_code());
    test.end(other);
    test.end(writer);
    CHECK(next.error == error_code());
    CHECK_FALSE(set.error);
    auto const token = next.lease.fencing_token();
    test.end(next);
    REQUIRE(set.error == error_code());
    CHECK(set.set.fencing_token("b") > token);
    CHECK(test.places() == Places{1, 1, 1});
}

TEST_CASE("a set that ends without a lease leaves no place")
{
    SharesTest test;
    auto const& holder = test.take(SharesTest::fair(test.elsewhere, "c"));
    auto& set = test.take(test.locks(), {.wait = 500ms});
    CHECK(test.places() == Places{1, 1, 2});
    SECTION("out of time")
    {
        test.time.run_for(600ms);
        CHECK(set.error == make_error_code(errc::timed_out));
    }
    SECTION("cancelled")
    {
        set.cancel.emit(asio::cancellation_type::terminal);
        test.time.run_for(5ms);
        CHECK(set.error == make_error_code(asio::error::operation_aborted));
    }
    test.time.run_for(5ms);
    CHECK(test.places() == Places{0, 0, 1});
    CHECK(holder.lease.valid());
}

TEST_CASE("a try of a set overtakes no waiter")
{
    SharesTest test;
    auto& first = test.take(SharesTest::both(test.elsewhere).read_lock());
    auto const& writer = test.take(SharesTest::both(test.elsewhere).write_lock());
    CHECK_FALSE(writer.error);
    // readers hold, and a writer waits: another reader would fit
    CHECK(test.take(test.locks(), {.wait = 0ms}).error == make_error_code(errc::timed_out));
    test.time.run_for(5ms);
    CHECK(test.places() == Places{0, 2, 0});
    test.end(first);
    CHECK(writer.error == error_code());
}

TEST_CASE("sets that share fair locks in opposite order both get them")
{
    SharesTest test;
    MultiLock const forwards({SharesTest::fair(test.store, "a"), SharesTest::fair(test.store, "c")});
    MultiLock const backwards({SharesTest::fair(test.elsewhere, "c"), SharesTest::fair(test.elsewhere, "a")});
    for (int round = 0; round < 20; ++round) {
        auto& one = test.take(forwards);
        auto& other = test.take(backwards);
        for (int step = 0; step < 200 && !(one.error && other.error); ++step) {
            test.time.run_for(10ms);
            for (auto* const granted : {&one, &other})
                if (!granted->set.empty())
                    granted->set = LeaseSet();
        }
        REQUIRE(one.error == error_code());
        REQUIRE(other.error == error_code());
        one.set = LeaseSet();
        other.set = LeaseSet();
        test.time.run_for(10ms);
    }
}

} // namespace tenure
