// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/report.hpp"

#include <boost/asio/io_context.hpp>
#include <catch2/catch_test_macros.hpp>

#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace tenure::tool;
using tenure::LogLevel;

TEST_CASE("a log line of any thread comes to a picture on the picture's thread", "[tool]")
{
    boost::asio::io_context loop;
    std::vector<std::pair<std::string, std::thread::id>> lines;
    LogRelay const relay(loop.get_executor(), [&](LogLevel level, std::string const& text) {
        CHECK(level == LogLevel::warning);
        lines.emplace_back(text, std::this_thread::get_id());
    });
    std::thread([sink = relay.sink(Report(0))] {
        sink(LogLevel::info, "not asked for");
        sink(LogLevel::warning, "lost the connection");
    }).join();
    CHECK(lines.empty());
    loop.run();
    REQUIRE(lines.size() == 1);
    CHECK(lines.front() == std::pair(std::string("lost the connection"), std::this_thread::get_id()));
}

TEST_CASE("a log line that comes too late touches neither the picture nor its loop", "[tool]")
{
    bool called = false;
    std::optional<boost::asio::io_context> loop(std::in_place);
    std::optional<LogRelay> relay;
    relay.emplace(loop->get_executor(), [&](LogLevel, std::string const&) { called = true; });
    auto const sink = relay->sink(Report(0));
    sink(LogLevel::warning, "on its way when the picture goes");
    relay.reset();
    CHECK(loop->run() == 1);
    loop.reset();
    sink(LogLevel::warning, "written to standard error by a test of the log relay");
    CHECK_FALSE(called);
}
