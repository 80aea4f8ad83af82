// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/child_process.hpp"

#include "run/inheritance.hpp"
#include "run/processes.hpp"

#include "harness/eventually.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::tool;
using tenure::test::eventually;

namespace
{

using Words = std::vector<std::string>;

struct Outcome {
    ExitStatus status;
    int start_error = 0;
    std::string output;
};

/** Runs a command to its end, its standard output going to a pipe. */
Outcome run(Words const& command, Words const& environment, Inheritance const& inheritance)
{
    auto output = make_pipe();
    // a child that ends under a sanitizer may write what its parent has buffered
    std::fflush(stdout);
    auto const saved = ::dup(1);
    REQUIRE(::dup2(output.write.number(), 1) == 1);
    ChildProcess child(command, environment, inheritance);
    REQUIRE(::dup2(saved, 1) == 1);
    ::close(saved);
    output.write.close();
    child.open_gate();
    Outcome result;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(output.read.number(), buffer, sizeof buffer)) > 0;)
        result.output.append(buffer, static_cast<std::size_t>(size));
    REQUIRE(eventually([&] { return child.ended().has_value(); }));
    result.status = *child.ended();
    result.start_error = child.start_error();
    child.reap();
    return result;
}

Outcome run(Words const& command, Words const& environment = {"PATH=/usr/bin:/bin"})
{
    return run(command, environment, Inheritance::record());
}

} // namespace

TEST_CASE("a command's exit code and the signal that ended it are told apart", "[tool]")
{
    auto const code = run({"sh", "-c", "exit 7"});
    CHECK(code.status.number == 7);
    CHECK_FALSE(code.status.signalled);
    CHECK(code.status.code() == 7);
    auto const signal = run({"sh", "-c", "kill -KILL $$"});
    CHECK(signal.status.signalled);
    CHECK(signal.status.code() == 128 + SIGKILL);
}

TEST_CASE("a command that cannot be started says why", "[tool]")
{
    auto const missing = run({"there-is-no-such-command"});
    CHECK(missing.start_error == ENOENT);
    CHECK(missing.status.code() == 127);
    auto const directory = run({"/"});
    CHECK(directory.start_error == EACCES);
    CHECK(directory.status.code() == 126);
    CHECK(run({"true"}).start_error == 0);
}

TEST_CASE("a command gets the environment it is given, and no other", "[tool]")
{
    CHECK(run({"env"}, {"TENURE_SLOT=3"}).output == "TENURE_SLOT=3\n");
}

TEST_CASE("a command inherits what its starter passed on, and nothing that was opened since", "[tool]")
{
    auto passed_on = make_pipe();
    auto const inherited = ::fcntl(passed_on.read.number(), F_DUPFD, 3);
    auto const inheritance = Inheritance::record();
    auto opened_since = make_pipe();
    auto const leaked = ::fcntl(opened_since.read.number(), F_DUPFD, 3);
    auto const outcome =
        run({"sh", "-c", "for f in /proc/$$/fd/*; do echo ${f##*/}; done"}, {"PATH=/bin"}, inheritance);
    std::set<int> open;
    for (std::size_t at = 0; at < outcome.output.size(); at = outcome.output.find('\n', at) + 1)
        open.insert(std::stoi(outcome.output.substr(at)));
    CHECK(open.contains(0));
    CHECK(open.contains(inherited));
    CHECK_FALSE(open.contains(leaked));
    CHECK_FALSE(open.contains(opened_since.write.number()));
    ::close(inherited);
    ::close(leaked);
}

TEST_CASE("a signal that the starter ignores stays ignored in the command, every other has its default", "[tool]")
{
    std::signal(SIGHUP, SIG_IGN);
    auto const inheritance = Inheritance::record();
    CHECK(inheritance.ignores(SIGHUP));
    CHECK_FALSE(inheritance.ignores(SIGUSR1));
    std::signal(SIGHUP, SIG_DFL);
    std::signal(SIGUSR1, SIG_IGN);
    auto const survived = run({"sh", "-c", "kill -HUP $$; exit 5"}, {"PATH=/bin"}, inheritance);
    CHECK(survived.status.code() == 5);
    auto const ended = run({"sh", "-c", "kill -USR1 $$; exit 5"}, {"PATH=/bin"}, inheritance);
    CHECK(ended.status.code() == 128 + SIGUSR1);
    std::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("a command does not start before its gate opens", "[tool]")
{
    auto started = make_pipe();
    auto const inheritance = Inheritance::record();
    ChildProcess child(
        {"sh", "-c", "echo x > /proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(started.write.number())},
        {"PATH=/bin"}, inheritance);
    CHECK(::getpgid(child.id()) == child.id());
    CHECK(has_live_member(child.id()));
    child.signal_group(SIGTERM);
    REQUIRE(eventually([&] { return child.ended().has_value(); }));
    CHECK(child.ended()->code() == 128 + SIGTERM);
    REQUIRE(::fcntl(started.read.number(), F_SETFL, O_NONBLOCK) == 0);
    char nothing = 0;
    CHECK(::read(started.read.number(), &nothing, 1) == -1);
    child.reap();
}

TEST_CASE("a group lives on in what its command left behind, and ends with it", "[tool]")
{
    auto const inheritance = Inheritance::record();
    ChildProcess child({"sh", "-c", "sleep 600 >/dev/null 2>&1 & exit 4"}, {"PATH=/usr/bin:/bin"}, inheritance);
    child.open_gate();
    REQUIRE(eventually([&] { return child.ended().has_value(); }));
    CHECK(child.ended()->code() == 4);
    CHECK(has_live_member(child.id()));
    child.signal_group(SIGKILL);
    CHECK(eventually([&] { return !has_live_member(child.id()); }));
    child.reap();
}

TEST_CASE("a stopped command is seen as stopped, once", "[tool]")
{
    auto const inheritance = Inheritance::record();
    ChildProcess child({"sleep", "600"}, {"PATH=/usr/bin:/bin"}, inheritance);
    child.open_gate();
    CHECK_FALSE(child.take_stop().has_value());
    child.signal_group(SIGSTOP);
    std::optional<int> stop;
    REQUIRE(eventually([&] { return (stop = child.take_stop()).has_value(); }));
    CHECK(*stop == SIGSTOP);
    CHECK_FALSE(child.take_stop().has_value());
    CHECK_FALSE(child.ended().has_value());
}
