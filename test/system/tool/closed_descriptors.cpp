// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure run` that is started with closed standard descriptors, as daemons and cron jobs are.
#include "harness/child_process.hpp"
#include "harness/paths.hpp"
#include "harness/scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

using namespace std::chrono_literals;
using namespace tenure::test;

namespace
{

/** What the script prints under a run whose starter has closed some descriptors. */
std::string output_of(std::string const& script, std::string const& closing)
{
    ScratchDirectory directory;
    auto const path = directory.file("output");
    ChildProcess tool(
        {{"sh", "-c", "exec \"$0\" run --lock x -vvv --store memory:// -- sh -c \"$1\" " + closing, tool_path(),
          script},
         {},
         path});
    auto const status = tool.wait_for(30s);
    REQUIRE(status.has_value());
    CHECK(status->code == 0);
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

} // namespace

TEST_CASE("a closed standard error gets no other meaning in the program, and is closed in the command", "[tool]")
{
    auto const text = output_of("readlink /proc/$PPID/fd/2; [ -e /proc/$$/fd/2 ] || echo closed", "2>&-");
    CHECK(text == "/dev/null\nclosed\n");
}

TEST_CASE("a closed standard input gets no other meaning in the program, and is closed in the command", "[tool]")
{
    auto const text = output_of("readlink /proc/$PPID/fd/0; [ -e /proc/$$/fd/0 ] || echo closed", "<&- 2>/dev/null");
    CHECK(text == "/dev/null\nclosed\n");
}

TEST_CASE("a run works without any standard descriptor", "[tool]")
{
    ScratchDirectory directory;
    auto const path = directory.file("result");
    auto const script = "readlink /proc/$PPID/fd/0 /proc/$PPID/fd/1 /proc/$PPID/fd/2 > " + path;
    CHECK(output_of(script, "<&- >&- 2>&-").empty());
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    CHECK(text.str() == "/dev/null\n/dev/null\n/dev/null\n");
}
