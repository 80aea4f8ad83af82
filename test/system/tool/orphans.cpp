// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure run` as the parent of orphans: as a child subreaper, for which the kernel does what it does for the PID 1 of
// a container.
#include "run/processes.hpp"
#include "system/support/caught_signals.hpp"

#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;

namespace
{

/** A program that becomes the parent of each orphan among its descendants. */
class Subreaper
{
public:
    explicit Subreaper(std::vector<std::string> words)
    {
        auto const arguments = pointers_to(words);
        id_ = ::fork();
        if (id_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::prctl(PR_SET_CHILD_SUBREAPER, 1);
            ::execvp(arguments[0], arguments.data());
            ::_exit(127);
        }
        REQUIRE(id_ > 0);
    }
    Subreaper(Subreaper const&) = delete;
    Subreaper& operator=(Subreaper const&) = delete;
    ~Subreaper()
    {
        if (id_ > 0) {
            ::kill(id_, SIGKILL);
            ::waitpid(id_, nullptr, 0);
        }
    }

    [[nodiscard]] pid_t id() const noexcept { return id_; }

    /** -1 if it does not end, or is ended by a signal. */
    [[nodiscard]] int exit_code()
    {
        int status = 0;
        if (!eventually([&] { return ::waitpid(id_, &status, WNOHANG) == id_; }))
            return -1;
        id_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t id_ = -1;
};

/** The process id that a script has written to a file. */
pid_t id_in(std::string const& path)
{
    pid_t id = 0;
    REQUIRE(eventually([&] { return static_cast<bool>(std::ifstream(path) >> id); }));
    return id;
}

/** Ends a child of the program, which reaps it. */
void check_reaped(pid_t child, Subreaper const& parent)
{
    REQUIRE(eventually([&] { return tenure::tool::parent_of(child) == parent.id(); }));
    ::kill(child, SIGKILL);
    CHECK(eventually([&] { return !process_state(child).has_value(); }));
}

} // namespace

TEST_CASE("a run reaps an orphan that its command has left", "[integration][tool]")
{
    ScratchDirectory directory;
    auto const path = directory.file("orphan");
    auto const script = "(setsid sleep 600 & echo $! > " + path + "); exec sleep 600";
    Subreaper tool({tool_path(), "run", "--lock", "x", "--store", "memory://", "sh", "-c", script});
    check_reaped(id_in(path), tool);
    CHECK(process_state(tool.id()).has_value());
}

TEST_CASE("a run reaps a child that ends while it waits for a lease", "[integration][tool]")
{
    ScratchDirectory directory;
    auto const path = directory.file("child");
    auto const nowhere = "redis://127.0.0.1:" + std::to_string(free_port());
    Subreaper tool(
        {"sh", "-c", "sleep 600 & echo $! > " + path + "; exec \"$0\" run --lock x --wait forever --store \"$1\" true",
         tool_path(), nowhere});
    auto const child = id_in(path);
    // the shell, which has no handler for this signal, has become the program
    REQUIRE(eventually([&] { return catches(tool.id(), SIGTERM); }));
    check_reaped(child, tool);
}

TEST_CASE(
    "a command is not reaped with the orphans, so its group keeps its number until it is empty", "[integration][tool]")
{
    ScratchDirectory directory;
    auto const path = directory.file("command");
    auto const script =
        "(trap '' TERM; while :; do sleep 0.05; done) & echo $$ > " + path + "; (setsid true &); exit 7";
    Subreaper tool(
        {tool_path(), "run", "--lock", "x", "--ttl", "10s", "--kill-after", "2s", "--store", "memory://", "sh", "-c",
         script});
    auto const command = id_in(path);
    auto const has_ended = [&] { return process_state(command).value_or(ProcessState{}).state == 'Z'; };
    REQUIRE(eventually(has_ended));
    CHECK_FALSE(eventually([&] { return !has_ended(); }, 500ms));
    CHECK(tool.exit_code() == 7);
}
