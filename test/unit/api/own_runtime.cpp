// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// make_runtime: what the author of a store hands to it and to `Store`.
#include "harness/eventually.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/store.hpp>

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;

TEST_CASE("a runtime runs on the executor that it was made for")
{
    asio::io_context context;
    auto const runtime = backend::make_runtime(context.get_executor());
    CHECK(runtime->user_executor() == context.get_executor());
    bool ran = false;
    runtime->post([&] { ran = true; });
    CHECK_FALSE(ran);
    context.run();
    CHECK(ran);
}

TEST_CASE("a store's own log lines go to the sink of the options, from their level on")
{
    std::mutex mutex;
    std::vector<std::string> lines;
    StoreOptions options;
    options.log = [&](LogLevel, std::string_view line) {
        std::lock_guard const lock(mutex);
        lines.emplace_back(line);
    };
    options.log_level = LogLevel::error;
    asio::io_context context;
    auto const runtime = backend::make_runtime(context.get_executor(), options);
    CHECK_FALSE(runtime->logs(LogLevel::warning));
    runtime->log(LogLevel::warning, "not this");
    runtime->log(LogLevel::error, "the directory is gone");
    CHECK(test::eventually([&] {
        std::lock_guard const lock(mutex);
        return !lines.empty();
    }));
    std::lock_guard const lock(mutex);
    CHECK(lines == std::vector<std::string>{"the directory is gone"});
}
