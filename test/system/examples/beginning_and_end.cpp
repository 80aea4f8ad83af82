// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The examples that are services: they fail at their start where a person has to act, and end in order on a signal.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"
#include "system/support/service_process.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

/** The command line of each service; stock is not built without SQLite. */
std::vector<std::vector<std::string>> service_commands(std::string const& url, ScratchDirectory const& directory)
{
    std::string const examples = TENURE_EXAMPLES;
    std::vector<std::vector<std::string>> commands{
        {examples + "/http_service", url, std::to_string(free_port())},
        {examples + "/leader", url, "anna", "10.0.0.7:80"},
        {examples + "/limit", url, "anna", "2"},
        {examples + "/scheduler", url, "1000"},
        {examples + "/shared_resources", url, "orders", std::to_string(free_port())},
        {examples + "/snowflake_service", url, std::to_string(free_port())},
        {examples + "/stock", url, directory.file("stock.db")},
        {examples + "/worker", url}};
    std::erase_if(commands, [](auto const& command) { return !std::filesystem::exists(command.front()); });
    return commands;
}

bool prints(ServiceProcess const& service, std::string const& words)
{
    auto const lines = service.lines();
    return std::ranges::any_of(lines, [&](auto const& line) { return line.find(words) != std::string::npos; });
}

} // namespace

TEST_CASE("services refuse a wrong password at their start, and say so", "[redis][services]")
{
    require_redis();
    RedisServer const server({.config = {"requirepass right"}});
    ScratchDirectory const directory;
    auto const url = "redis://:wrong@127.0.0.1:" + std::to_string(server.port());
    for (auto const& command : service_commands(url, directory)) {
        INFO(command.front());
        auto const name = std::filesystem::path(command.front()).filename().string();
        ServiceProcess service(command, directory.file(name + ".log"));
        CHECK(service.wait_for(10s) == ExitStatus{1, 0});
        CHECK(prints(service, "the store rejected the user or password"));
        CHECK_FALSE(prints(service, "wrong@"));
    }
}

TEST_CASE("services refuse a URL that names no store, and say so", "[services]")
{
    ScratchDirectory const directory;
    for (auto const& command : service_commands("redis:/127.0.0.1", directory)) {
        INFO(command.front());
        auto const name = std::filesystem::path(command.front()).filename().string();
        ServiceProcess service(command, directory.file(name + ".log"));
        CHECK(service.wait_for(10s) == ExitStatus{1, 0});
        CHECK(prints(service, "store URL: scheme"));
    }
}

TEST_CASE("services end on a signal while they wait for a store that is unavailable", "[services]")
{
    ScratchDirectory const directory;
    auto const url = "redis://127.0.0.1:" + std::to_string(free_port());
    for (auto const signal : {SIGTERM, SIGINT})
        for (auto const& command : service_commands(url, directory)) {
            INFO(command.front() << ", signal " << signal);
            auto const name = std::filesystem::path(command.front()).filename().string();
            ServiceProcess service(command, directory.file(name + std::to_string(signal)));
            // it takes signals before it says that it cannot connect
            CHECK(eventually([&] { return !service.lines().empty(); }));
            CHECK(service.end(signal, 5s) == ExitStatus{0, 0});
        }
}

TEST_CASE("a program with futures ends with the reason when a get() throws", "[redis][services]")
{
    require_redis();
    RedisServer const server({.config = {"requirepass right"}});
    ScratchDirectory const directory;
    auto const url = "redis://:wrong@127.0.0.1:" + std::to_string(server.port());
    auto const program = std::string(TENURE_EXAMPLES) + "/callbacks_and_futures";
    ServiceProcess failing({program, url}, directory.file("failing.log"));
    CHECK(failing.wait_for(10s) == ExitStatus{1, 0});
    CHECK(prints(failing, "callback: the store rejected the user or password"));

    // its lock is taken away for good while the callbacks are at work
    RedisServer const other;
    other.client().call("SET", "jobs:nightly", "not a lease");
    ServiceProcess conflicting({program, other.url()}, directory.file("conflicting.log"));
    CHECK(conflicting.wait_for(10s) == ExitStatus{1, 0});
    CHECK(prints(conflicting, "another program's value is in the way"));
}
