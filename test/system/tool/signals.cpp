// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Signals to `tenure run` that are not the command's to handle, and how the program ends by them.
#include "system/support/tool_process.hpp"

#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <csignal>
#include <fstream>
#include <string>

using namespace std::chrono_literals;
using namespace tenure::test;

namespace
{

/** True once the process has a handler for this signal. */
bool catches(pid_t process, int signal)
{
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("SigCgt:"))
            return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
    return false;
}

} // namespace

TEST_CASE("a signal that comes just before the wait begins ends the program at once", "[integration][tool]")
{
    auto const nowhere = "redis://127.0.0.1:" + std::to_string(free_port());
    for (int round = 0; round < 20; ++round) {
        ToolProcess tool({"run", "--lock", "x", "--wait", "forever", "true"}, nowhere);
        REQUIRE(eventually([&] { return catches(tool.process().pid(), SIGTERM); }, 10s, 0ms));
        tool.process().signal(SIGTERM);
        CHECK(tool.exit_code() == 128 + SIGTERM);
    }
}
