// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Where log lines go, and that no sink costs a lease or the program its end.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

/** The standard error of a program that logs and ends. */
std::string last_words(std::string const& how)
{
    ScratchDirectory const directory;
    auto const output = directory.file("output");
    ChildProcess program{Command{{test_program("last_words"), how}, {}, output}};
    CHECK(program.wait_for(10s) == ExitStatus{0, 0});
    std::ostringstream text;
    text << std::ifstream(output).rdbuf();
    return text.str();
}

std::size_t count(std::string const& text, std::string const& part)
{
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "a sink that blocks keeps no lease from being renewed, in a program with one thread", "[integration]")
{
    std::atomic<int> lines = 0;
    std::atomic<bool> blocks = true;
    {
        asio::io_context context(1);
        StoreOptions options;
        options.log = [&](LogLevel, std::string_view) {
            ++lines;
            while (blocks)
                std::this_thread::sleep_for(1ms);
        };
        options.log_level = LogLevel::trace;
        std::optional<Store> store{open_store(context.get_executor(), server.url(), options)};
        auto acquired = Lock(*store, {.key = "job", .ttl = 500ms}).async_acquire(asio::use_future);
        std::jthread const loop([&] { context.run(); });
        auto lease = acquired.get();
        // the connection was logged before the lease was granted, and that line is not over yet
        CHECK(eventually([&] { return lines == 1; }));
        std::this_thread::sleep_for(1500ms);
        CHECK(lines == 1);
        CHECK(lease.valid());
        CHECK(lease.state() == LeaseState::held);
        CHECK(store->statistics().renewals >= 4);
        CHECK(store->statistics().renewals_failed == 0);
        CHECK(lease.async_release(asio::use_future).get() == ReleaseOutcome::released);
        CHECK_FALSE(flush_log(1ms));
        blocks = false;
        store.reset();
    }
    CHECK(flush_log(10s));
}

TEST_CASE("a warning that is logged just before the program ends is on standard error", "[integration]")
{
    auto const text = last_words("end");
    CHECK(count(text, "\n") == 1);
    CHECK_THAT(
        text, Catch::Matchers::ContainsSubstring("[tenure] [error]") &&
                  Catch::Matchers::ContainsSubstring("AcquireOptions::wait is -7 ms"));
}

TEST_CASE("a child of fork logs by itself, and repeats no line of its parent", "[integration]")
{
    CHECK(count(last_words("fork"), "-7 ms") == 2);
    CHECK(count(last_words("fork-first"), "-7 ms") == 1);
    CHECK(count(last_words("fork-in-sink"), "-7 ms") == 2);
}

TEST_CASE("a sink that never returns does not keep the program from ending", "[integration]")
{
    auto const begin = std::chrono::steady_clock::now();
    CHECK(last_words("stuck").empty());
    CHECK(std::chrono::steady_clock::now() - begin < 4s);
}
