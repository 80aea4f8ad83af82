// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The commands that ask a store something, where nothing listens.
#include "acceptance/dead_ports.hpp"
#include "harness/paths.hpp"
#include "system/support/tool_process.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <chrono>
#include <string>
#include <vector>

using namespace tenure::test;
using namespace std::chrono_literals;

TEST_CASE("the tool says at once that nothing listens", "[tool]")
{
    if (tool_path().empty())
        SKIP("this build is without the tool");
    std::string const store = GENERATE(
        "redis://HOST", "rediss://HOST", "redis+sentinel://HOST/mymaster", "redis+cluster://HOST",
        "redlock://HOST,HOST,HOST", "etcd://HOST", "zookeeper://HOST");
    std::string url;
    for (std::size_t at = 0; at < store.size();)
        if (store.compare(at, 4, "HOST") == 0) {
            url += "127.0.0.1:" + std::to_string(ClosedPort().number());
            at += 4;
        } else {
            url += store[at++];
        }
    std::vector<std::vector<std::string>> const commands{
        {"status", "--size", "3"}, {"doctor"}, {"evict", "--size", "3", "--slot", "0", "--yes"}};
    for (auto const& command : commands) {
        auto const began = std::chrono::steady_clock::now();
        ToolProcess tool(command, url);
        auto const code = tool.exit_code();
        auto const took = std::chrono::steady_clock::now() - began;
        INFO(url << ": " << command.front() << ":\n" << tool.output());
        CHECK(code != 0);
        CHECK(tool.output().find("refused") != std::string::npos);
        // a few hundredths of a second where the machine has nothing else to do; five seconds would be a time limit
        CHECK(took < 2s);
    }
}
