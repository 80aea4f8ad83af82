// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure run` on a terminal: the command reads it and gets its control keys, and a shell can suspend the job. In
// scripts and pipelines, the other processes keep the terminal and its keys.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <poll.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;

namespace
{

/** A program that is the leader of a session on a terminal of its own. */
class OnTerminal
{
public:
    explicit OnTerminal(std::vector<std::string> words)
    {
        auto const arguments = pointers_to(words);
        process_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
        if (process_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::setenv("TENURE_STORE", "memory://", 1);
            ::setenv("PS1", "prompt> ", 1);
            ::execvp(arguments[0], arguments.data());
            ::_exit(127);
        }
        REQUIRE(process_ > 0);
    }
    OnTerminal(OnTerminal const&) = delete;
    OnTerminal& operator=(OnTerminal const&) = delete;
    ~OnTerminal()
    {
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            ::waitpid(process_, nullptr, 0);
        }
        ::close(terminal_);
    }

    void type(std::string const& keys) const
    {
        REQUIRE(::write(terminal_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
    }

    /** Waits until the terminal shows this, after what was waited for before. */
    [[nodiscard]] bool shows(std::string const& text)
    {
        auto const end = std::chrono::steady_clock::now() + 15s;
        for (;;) {
            auto const at = screen_.find(text);
            if (at != std::string::npos) {
                screen_.erase(0, at + text.size());
                return true;
            }
            pollfd waits = {terminal_, POLLIN, 0};
            auto const left =
                std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
            char buffer[1024];
            if (left.count() <= 0 || ::poll(&waits, 1, static_cast<int>(left.count())) != 1)
                break;
            auto const size = ::read(terminal_, buffer, sizeof buffer);
            if (size <= 0)
                break;
            screen_.append(buffer, static_cast<std::size_t>(size));
        }
        UNSCOPED_INFO("the terminal shows: " << screen_);
        return false;
    }

    /** As a shell would show it; -1 if it does not end. */
    [[nodiscard]] int exit_code()
    {
        int status = 0;
        if (!eventually([&] { return ::waitpid(process_, &status, WNOHANG) == process_; }))
            return -1;
        process_ = -1;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }

private:
    pid_t process_ = -1;
    int terminal_ = -1;
    /// what was shown and not yet waited for
    std::string screen_;
};

/// without its own line editing, whose control sequences would stand between the words
std::vector<std::string> const interactive_shell = {"bash", "--norc", "--noprofile", "--noediting", "-i"};
constexpr auto reader = "echo ready; while read line; do echo got:$line; done; echo end";
constexpr auto interrupt_key = "\x03";
constexpr auto suspend_key = "\x1a";

/** A script that starts the run again as soon as it has ended. */
std::vector<std::string> endless(std::string const& run)
{
    return {"bash", "-c", "while :; do " + tool_path() + " run --lock x " + run + "; done"};
}

} // namespace

TEST_CASE("a command on a terminal reads what is typed and is interrupted by its key", "[integration][tool]")
{
    OnTerminal tool({tool_path(), "run", "--lock", "x", "--", "sh", "-c", reader});
    REQUIRE(tool.shows("ready"));
    tool.type("hello\n");
    REQUIRE(tool.shows("got:hello"));
    tool.type(interrupt_key);
    CHECK(tool.exit_code() == 128 + SIGINT);
}

TEST_CASE("a suspend key with no shell to come back to changes nothing", "[integration][tool]")
{
    OnTerminal tool({tool_path(), "run", "--lock", "x", "--", "sh", "-c", reader});
    REQUIRE(tool.shows("ready"));
    tool.type(suspend_key);
    tool.type("hello\n");
    REQUIRE(tool.shows("got:hello"));
    // the key for the end of the input
    tool.type("\x04");
    CHECK(tool.exit_code() == 0);
}

TEST_CASE("a shell can suspend a run and bring it back to the foreground", "[integration][tool]")
{
    OnTerminal shell(interactive_shell);
    REQUIRE(shell.shows("prompt> "));
    shell.type(tool_path() + " run --lock x --ttl 60s -- sh -c '" + reader + "'\n");
    REQUIRE(shell.shows("\nready"));
    shell.type(suspend_key);
    REQUIRE(shell.shows("Stopped"));
    REQUIRE(shell.shows("prompt> "));
    shell.type("fg\n");
    REQUIRE(shell.shows("run --lock x"));
    shell.type("hello\n");
    REQUIRE(shell.shows("got:hello"));
    shell.type("\x04");
    REQUIRE(shell.shows("end"));
    REQUIRE(shell.shows("prompt> "));
    shell.type("exit 7\n");
    CHECK(shell.exit_code() == 7);
}

// The command is bash: a shell that starts programs by vfork cannot be stopped while the child that it waits for is.
TEST_CASE("a suspended run whose lease ends is killed, and says so when it is continued", "[integration][tool]")
{
    OnTerminal shell(interactive_shell);
    REQUIRE(shell.shows("prompt> "));
    shell.type(
        tool_path() + " run --lock x --ttl 1s -- bash -c 'trap \"echo asked\" TERM; echo ready; " +
        "while :; do sleep 0.05; done'\n");
    REQUIRE(shell.shows("\nready"));
    shell.type(suspend_key);
    REQUIRE(shell.shows("suspended: the lease is not renewed"));
    REQUIRE(shell.shows("prompt> "));
    REQUIRE(shell.shows("asked"));
    shell.type("fg; echo code=$?\n");
    REQUIRE(shell.shows("code=79"));
    shell.type("exit 0\n");
    CHECK(shell.exit_code() == 0);
}

TEST_CASE("the interrupt key ends a script, and not only the command that runs in it", "[integration][tool]")
{
    OnTerminal script(endless("-- sh -c 'echo ready; exec sleep 600'"));
    REQUIRE(script.shows("ready"));
    script.type(interrupt_key);
    CHECK(script.exit_code() == 128 + SIGINT);
}

TEST_CASE("the interrupt key ends a script whose command has the terminal", "[integration][tool]")
{
    OnTerminal script(endless(std::string("-- sh -c '") + reader + "'"));
    REQUIRE(script.shows("ready"));
    script.type("hello\n");
    REQUIRE(script.shows("got:hello"));
    script.type(interrupt_key);
    CHECK(script.exit_code() == 128 + SIGINT);
}

TEST_CASE("the interrupt key ends a script that waits for a lease", "[integration][tool]")
{
    auto const nowhere = " --store redis://127.0.0.1:" + std::to_string(free_port());
    OnTerminal script(endless("--wait forever" + nowhere + " -- true"));
    REQUIRE(script.shows("waiting for the lock x"));
    script.type(interrupt_key);
    CHECK(script.exit_code() == 128 + SIGINT);
}

TEST_CASE("a pipeline's other member reads the terminal, and the lease is kept", "[integration][tool]")
{
    OnTerminal shell(interactive_shell);
    REQUIRE(shell.shows("prompt> "));
    // the pauses are longer than the ttl
    shell.type(
        tool_path() + " run --lock x --ttl 1s -- sh -c 'echo begin; sleep 2; echo kept' | sh -c 'read one; " +
        "echo ready; read line </dev/tty; echo got:$line; read two; echo then:$two'\n");
    REQUIRE(shell.shows("\nready"));
    shell.type("hello\n");
    REQUIRE(shell.shows("\ngot:hello"));
    CHECK(shell.shows("\nthen:kept"));
}

TEST_CASE("a member that is stopped because the command has the terminal does not stop the run", "[integration][tool]")
{
    OnTerminal shell(interactive_shell);
    REQUIRE(shell.shows("prompt> "));
    shell.type(
        tool_path() + " run --lock x --ttl 1s -- sh -c 'echo ready >/dev/tty; read line; echo got:$line >/dev/tty; " +
        "echo go; sleep 2; echo kept >/dev/tty' | sh -c 'read go; read line </dev/tty'\n");
    REQUIRE(shell.shows("\nready"));
    shell.type("hello\n");
    REQUIRE(shell.shows("\ngot:hello"));
    CHECK(shell.shows("\nkept"));
}

TEST_CASE("a shell can suspend a script with its run and bring it back", "[integration][tool]")
{
    OnTerminal shell(interactive_shell);
    REQUIRE(shell.shows("prompt> "));
    shell.type("(" + tool_path() + " run --lock x --ttl 60s -- sh -c '" + reader + "'; echo after)\n");
    REQUIRE(shell.shows("\nready"));
    shell.type("first\n");
    REQUIRE(shell.shows("\ngot:first"));
    shell.type(suspend_key);
    REQUIRE(shell.shows("Stopped"));
    REQUIRE(shell.shows("prompt> "));
    shell.type("fg\n");
    REQUIRE(shell.shows("run --lock x"));
    shell.type("second\n");
    REQUIRE(shell.shows("\ngot:second"));
    shell.type("\x04");
    REQUIRE(shell.shows("\nafter"));
    REQUIRE(shell.shows("prompt> "));
    shell.type("exit 7\n");
    CHECK(shell.exit_code() == 7);
}
