// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The program with a store in a directory: no server, only processes of this machine.
#include "system/support/tool_process.hpp"
#include "system/tool/guard_process.hpp"

#include "harness/paths.hpp"
#include "harness/scratch_directory.hpp"
#include "run/processes.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using tenure::tool::has_live_member;

namespace
{

struct Machine {
    ScratchDirectory directory{ScratchDirectory::Place::memory};
    std::string store = "file://" + directory.path();

    /** The exit code and the output of a command that ends. */
    [[nodiscard]] std::pair<int, std::string> run(std::vector<std::string> arguments) const
    {
        ToolProcess tool(std::move(arguments), store);
        auto const code = tool.exit_code();
        return {code, tool.output()};
    }
    /** True if the lock can be had at once. */
    [[nodiscard]] bool is_free() const
    {
        return run({"run", "--lock", "job", "--wait", "0s", "--", "true"}).first == 0;
    }
};

/** A command under the lock, with a ttl of ten minutes. */
struct Holder {
    ToolProcess tool;
    pid_t group;

    explicit Holder(Machine const& machine)
        : tool({"run", "--lock", "job", "--ttl", "10m", "--", "sh", "-c", "echo group=$$; sleep 600"}, machine.store)
    {
        REQUIRE(tool.says("group="));
        group = static_cast<pid_t>(tool.number_after("group="));
    }
};

} // namespace

TEST_CASE("a lock in a directory: run, status, evict and doctor", "[integration][tool][file]")
{
    Machine const machine;
    Holder holder(machine);
    CHECK_FALSE(machine.is_free());
    auto const [status, shown] = machine.run({"status", "--lock", "job"});
    CHECK(status == 0);
    CHECK_THAT(shown, ContainsSubstring("job"));
    auto const [examined, findings] = machine.run({"doctor"});
    CHECK(examined == 0);
    CHECK_THAT(findings, ContainsSubstring("file system") && ContainsSubstring("tmpfs"));
    holder.tool.process().signal(SIGTERM);
    CHECK(holder.tool.exit_code() == 128 + SIGTERM);
    CHECK(machine.is_free());
}

TEST_CASE("without a store a lock holds on this machine, and each call says so", "[integration][tool][file]")
{
    ScratchDirectory const scratch;
    int calls = 0;
    auto const run = [&](std::vector<std::string> variables, std::vector<std::string> options) {
        std::vector<std::string> words{"env", "-u", "TENURE_STORE", "-u", "KUBERNETES_SERVICE_HOST"};
        words.insert(words.end(), variables.begin(), variables.end());
        words.insert(words.end(), {tool_path(), "run", "--lock", "job:of-a-test"});
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", "echo", "works"});
        ChildProcess process({words, {}, scratch.file(std::to_string(++calls))});
        auto const status = process.wait_for(10s);
        std::ostringstream text;
        text << std::ifstream(scratch.file(std::to_string(calls))).rdbuf();
        return std::pair(status ? status->code : -1, text.str());
    };
    auto const [code, said] = run({}, {});
    CHECK(code == 0);
    CHECK_THAT(said, ContainsSubstring("works"));
    CHECK_THAT(said, ContainsSubstring("no store named: this lock holds on this machine only, in file:///"));
    auto const [named, silent] = run({}, {"--store", "file:"});
    CHECK(named == 0);
    CHECK(silent == "works\n");
    for (auto const* const variable : {"TENURE_STORE=", "KUBERNETES_SERVICE_HOST=10.0.0.1"}) {
        auto const [refused, why] = run({variable}, {});
        CHECK(refused == 64);
        CHECK_THAT(why, ContainsSubstring("which store?"));
    }
}

TEST_CASE("the key of a killed program is free as soon as its command has ended", "[integration][tool][file]")
{
    Machine const machine;
    Holder holder(machine);
    auto const killed = std::chrono::steady_clock::now();
    holder.tool.process().kill();
    auto const next = machine.run({"run", "--lock", "job", "--wait", "30s", "--", "true"});
    CHECK(next.first == 0);
    CHECK(std::chrono::steady_clock::now() - killed < 1s);
    CHECK_FALSE(has_live_member(holder.group));
}

TEST_CASE("the key of a killed program stays taken while its command lives", "[integration][tool][file]")
{
    Machine const machine;
    Holder holder(machine);
    auto const guard = guard_of(holder.tool.process().pid());
    REQUIRE(guard > 1);
    // the guard cannot end the command now, and the program cannot start another guard
    holder.tool.process().pause();
    REQUIRE(::kill(guard, SIGSTOP) == 0);
    holder.tool.process().kill();
    CHECK(has_live_member(holder.group));
    CHECK_FALSE(machine.is_free());
    REQUIRE(::kill(guard, SIGCONT) == 0);
    REQUIRE(eventually([&] { return machine.is_free(); }));
    CHECK_FALSE(has_live_member(holder.group));
}

TEST_CASE("an elected leader that is killed has a successor at once", "[integration][tool][file]")
{
    Machine const machine;
    std::vector<std::string> const arguments{"elect", "leader", "--ttl", "10m",
                                             "--",    "sh",     "-c",    "echo leads; sleep 600"};
    ToolProcess first(arguments, machine.store);
    CAPTURE(first.output());
    REQUIRE(first.says("leads"));
    ToolProcess second(arguments, machine.store);
    CHECK_FALSE(second.says("leads", 300ms));
    first.process().kill();
    CHECK(second.says("leads", 5s));
}

TEST_CASE("processes in other namespaces exclude each other, and their keys lapse in time", "[integration][tool][file]")
{
    Machine const machine;
    std::vector<std::vector<std::string>> const namespaces{
        {"--time", "--boottime", "86400"},
        {"--pid", "--mount-proc"},
        {"--user", "--map-root-user"},
        {"--mount"},
        {"--uts", "--ipc"}};
    for (auto const& flags : namespaces) {
        CAPTURE(flags.front());
        std::vector<std::string> arguments{"unshare", "--fork", "--kill-child"};
        arguments.insert(arguments.end(), flags.begin(), flags.end());
        auto works = arguments;
        works.emplace_back("true");
        if (ChildProcess({works}).wait_for(5s) != ExitStatus{0, 0})
            SKIP("may not make namespaces");
        arguments.push_back(tool_path());
        for (auto const* const word : {"run", "--lock", "job", "--ttl", "1s", "--", "sleep", "600"})
            arguments.emplace_back(word);
        ChildProcess holder({arguments, {{"TENURE_STORE", machine.store}}});
        REQUIRE(eventually([&] { return !machine.is_free(); }));
        // it is renewed
        std::this_thread::sleep_for(1500ms);
        CHECK_FALSE(machine.is_free());
        holder.kill();
        auto const killed = std::chrono::steady_clock::now();
        CHECK(machine.run({"run", "--lock", "job", "--wait", "20s", "--", "true"}).first == 0);
        CHECK(std::chrono::steady_clock::now() - killed < 1500ms);
    }
}
