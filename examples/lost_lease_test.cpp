// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Unit tests of your own code, in virtual time: what happens when the lease is lost. They need no server and no second.
//   lost_lease_test     link tenure::testing and Catch2::Catch2WithMain
#include <tenure/tenure.hpp>
#include <tenure/testing.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// ---- the code under test, which lies in a header of your program ----

/** Exports records under a lock: one every 100 ms. */
class Exporter
{
public:
    /// production gives a function that waits for a steady_timer, and one that writes a record with a fencing token
    using Wait = std::function<asio::awaitable<void>(std::chrono::milliseconds)>;
    using Write = std::function<void(std::uint64_t fencing_token)>;

    Exporter(Wait wait, Write write)
        : wait_(std::move(wait))
        , write_(std::move(write))
    {
    }

    asio::awaitable<void> run(tenure::Lock lock)
    {
        auto const work = [this](tenure::Lease& lease) { return export_records(lease); };
        co_await tenure::async_run(lock, work);
    }

private:
    asio::awaitable<void> export_records(tenure::Lease& lease)
    {
        for (;;) {
            co_await wait_(100ms);
            // the test "a paused exporter writes nothing late" fails without this line
            if (!lease.valid())
                co_return;
            write_(lease.fencing_token());
        }
    }

    Wait wait_;
    Write write_;
};

// ---- the tests ----

namespace
{

/** Two exporters, as if in two processes, on one store. */
class ExporterTest
{
public:
    tenure::testing::VirtualTime time;
    tenure::testing::SimulatedStore store{time};
    /// the fencing tokens of all records, in the order of the writes
    std::vector<std::uint64_t> written;

    void start(Exporter& exporter, char const* process)
    {
        tenure::Lock const lock(store.open(process), {.key = "export", .ttl = 3s});
        asio::co_spawn(time.get_executor(), exporter.run(lock), [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
    }
    Exporter exporter()
    {
        return {
            [this](std::chrono::milliseconds pause) { return wait(pause); },
            [this](std::uint64_t token) { written.push_back(token); }};
    }

private:
    asio::awaitable<void> wait(std::chrono::milliseconds pause) { co_await time.async_wait_for(pause); }
};

} // namespace

TEST_CASE_METHOD(ExporterTest, "an outage of the store stops the exporter before the ttl is over, and no longer")
{
    Exporter first = exporter();
    start(first, "first");
    time.run_for(10s);
    REQUIRE(written.size() >= 95);

    store.set_reachable(false);
    auto const before = written.size();
    time.run_for(1min);
    // less than 3 s of records
    CHECK(written.size() - before < 30);

    store.set_reachable(true);
    auto const after = written.size();
    time.run_for(10s);
    CHECK(written.size() > after + 50);
    CHECK(written.back() > written.front());
}

TEST_CASE_METHOD(ExporterTest, "a short outage costs no record")
{
    Exporter first = exporter();
    start(first, "first");
    time.run_for(10s);
    auto const before = written.size();
    store.set_reachable(false);
    time.run_for(1s);
    store.set_reachable(true);
    time.run_for(9s);
    CHECK(written.size() - before >= 95);
    CHECK(written.back() == written.front());
}

TEST_CASE_METHOD(ExporterTest, "an exporter whose lock was taken away leaves the records to the other one")
{
    Exporter first = exporter();
    Exporter second = exporter();
    start(first, "first");
    time.run_for(1s);
    start(second, "second");
    store.overwrite("export", 5s);
    // it is notified at its next renewal, within a third of the ttl
    time.run_for(1500ms);
    auto const before = written.size();
    time.run_for(2s);
    CHECK(written.size() == before);
    time.run_for(10s);
    CHECK(written.size() > before);
}

TEST_CASE_METHOD(ExporterTest, "a paused exporter writes nothing late")
{
    Exporter first = exporter();
    start(first, "first");
    time.run_for(1s);
    auto const before = written.size();
    // the process is stopped for longer than the ttl, in the middle of its wait
    time.skip(1min);
    time.run_for(10ms);
    CHECK(written.size() == before);
}
