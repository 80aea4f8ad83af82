// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "runtime/log_queue.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace tenure::test
{

namespace
{

/** The lines that a sink was given; shared, because lines may come late. */
struct Heard {
    std::vector<std::string> lines;
    std::vector<LogLevel> levels;
    std::thread::id thread;
};

LogSink sink_of(std::shared_ptr<Heard> heard)
{
    return [heard = std::move(heard)](LogLevel level, std::string_view line) {
        heard->lines.emplace_back(line);
        heard->levels.push_back(level);
        heard->thread = std::this_thread::get_id();
    };
}

} // namespace

TEST_CASE("log lines come in order, in a thread of the library")
{
    auto const heard = std::make_shared<Heard>();
    auto const log = queued(sink_of(heard));
    log(LogLevel::warning, "one");
    log(LogLevel::error, "two");
    REQUIRE(flush_log(10s));
    CHECK(heard->lines == std::vector<std::string>{"one", "two"});
    CHECK(heard->levels == std::vector{LogLevel::warning, LogLevel::error});
    CHECK(heard->thread != std::this_thread::get_id());
}

TEST_CASE("a sink that blocks delays no store, and gets the number of missed messages")
{
    std::promise<void> entered;
    std::promise<void> leave;
    auto const heard = std::make_shared<Heard>();
    auto const other = std::make_shared<Heard>();
    auto const log = queued([&, first = true, sink = sink_of(heard)](LogLevel level, std::string_view line) mutable {
        if (std::exchange(first, false)) {
            entered.set_value();
            leave.get_future().wait();
        }
        sink(level, line);
    });
    auto const quick = queued(sink_of(other));
    log(LogLevel::info, "0");
    entered.get_future().wait();
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 1; i <= 1200; ++i)
        log(LogLevel::info, std::to_string(i));
    quick(LogLevel::info, "dropped too");
    CHECK(std::chrono::steady_clock::now() - begin < 1s);
    CHECK_FALSE(flush_log(1ms));
    leave.set_value();
    REQUIRE(flush_log(10s));
    log(LogLevel::info, "later");
    REQUIRE(flush_log(10s));
    REQUIRE(heard->lines.size() == 1003);
    CHECK(heard->lines[1000] == "1000");
    CHECK(heard->lines[1001] == "200 messages dropped: the log thread did not take them in time");
    CHECK(heard->levels[1001] == LogLevel::warning);
    CHECK(heard->lines[1002] == "later");
    REQUIRE(other->lines.size() == 1);
    CHECK(other->lines[0].starts_with("1 messages dropped"));
}

TEST_CASE("a sink may throw, and must not wait for itself")
{
    auto const heard = std::make_shared<Heard>();
    auto const waits = std::make_shared<std::promise<bool>>();
    queued([](LogLevel, std::string_view) { throw std::runtime_error("a user's"); })(LogLevel::error, "x");
    queued([waits](LogLevel, std::string_view) { waits->set_value(flush_log(10s)); })(LogLevel::error, "x");
    queued(sink_of(heard))(LogLevel::error, "x");
    REQUIRE(flush_log(5s));
    CHECK_FALSE(waits->get_future().get());
    CHECK(heard->lines.size() == 1);
}

TEST_CASE("the silent sink is known as such")
{
    CHECK(is_silent(silent_log_sink()));
    CHECK_FALSE(is_silent(default_log_sink()));
    CHECK_FALSE(is_silent(LogSink{}));
}

} // namespace tenure::test
