// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The completions and the manual page, as the shells and groff take them.
#include "harness/child_process.hpp"
#include "harness/paths.hpp"
#include "harness/scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fstream>
#include <sstream>
#include <string>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

/** What a program has written, with its errors. The tool is `$tenure` in its environment. */
std::string output_of(std::vector<std::string> command)
{
    if (find_program(command.front()).empty())
        SKIP("no " << command.front() << " in PATH");
    ScratchDirectory directory;
    ChildProcess process({std::move(command), {{"tenure", tool_path()}}, directory.file("output")});
    CHECK(process.wait_for(20s).has_value());
    std::ostringstream text;
    text << std::ifstream(directory.file("output")).rdbuf();
    return text.str();
}

/** What bash would offer at the end of this line. */
std::string offered_by_bash(std::string const& line)
{
    return output_of(
        {"bash", "--norc", "-c",
         "source <(\"$tenure\" completion bash); COMP_LINE=$1; COMP_POINT=${#1}; _tenure; echo \"${COMPREPLY[*]}\"",
         "bash", line});
}

} // namespace

TEST_CASE("bash completes commands, options, their values, and the command that is run", "[integration][tool]")
{
    CHECK(offered_by_bash("tenure sta") == "status\n");
    CHECK(offered_by_bash("tenure status --wa") == "--watch\n");
    CHECK(offered_by_bash("tenure status --store redis://h --js") == "--json\n");
    CHECK(offered_by_bash("tenure completion f") == "fish\n");
    CHECK(offered_by_bash("tenure run --size 2 --wa") == "--wait\n");
    CHECK(offered_by_bash("tenure run --size ") == "\n");
    CHECK_THAT(offered_by_bash("tenure run --size 2 slee"), ContainsSubstring("sleep"));
    CHECK_THAT(offered_by_bash("tenure run --lock x -- slee"), ContainsSubstring("sleep"));
    CHECK(offered_by_bash("tenure run --size=2 ls /et") == "/etc\n");
    CHECK(offered_by_bash("tenure elect sche") == "\n");
    CHECK(offered_by_bash("tenure elect scheduler --cont") == "--contact\n");
    CHECK_THAT(offered_by_bash("tenure elect --ttl 5s scheduler slee"), ContainsSubstring("sleep"));
    CHECK(offered_by_bash("tenure leader scheduler --wa") == "--watch\n");
}

TEST_CASE("fish completes commands, options and the command that is run", "[integration][tool]")
{
    auto const offered = [](std::string const& line) {
        return output_of(
            {"fish", "--no-config", "-c", "\"$tenure\" completion fish | source; complete -C \"$argv[1]\"", line});
    };
    CHECK_THAT(offered("tenure sta"), ContainsSubstring("status\tshow who holds which slot or lock"));
    CHECK_THAT(offered("tenure status --wa"), ContainsSubstring("--watch\t"));
    CHECK_THAT(offered("tenure completion "), ContainsSubstring("zsh\t"));
    CHECK_THAT(offered("tenure run --size 2 slee"), ContainsSubstring("sleep\t"));
    CHECK_THAT(offered("tenure elect scheduler slee"), ContainsSubstring("sleep\t"));
}

TEST_CASE("zsh takes its completion without a complaint", "[integration][tool]")
{
    CHECK(
        output_of(
            {"zsh", "-f", "-c",
             "autoload -Uz compinit; compinit -D -u; source <(\"$tenure\" completion zsh); echo $_comps[tenure]"}) ==
        "_tenure\n");
}

TEST_CASE("groff sets the manual page without a warning", "[integration][tool]")
{
    if (find_program("groff").empty())
        SKIP("no groff in PATH");
    CHECK(output_of({"bash", "-c", "\"$tenure\" man-page | groff -man -ww -Tascii 2>&1 > /dev/null"}).empty());
    auto const page = output_of({"bash", "-c", "\"$tenure\" man-page | groff -man -rLL=120n -Tascii -P-c -P-b -P-u"});
    CHECK_THAT(page, ContainsSubstring("tenure run (--size N [--pool PREFIX] | --lock NAME... | --fair NAME"));
    CHECK_THAT(page, ContainsSubstring("TENURE_STORE"));
}
