// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// examples/limit.cpp: three processes with two jobs each at a limit of three. One is killed in the middle of its jobs,
// one loses a place to an operator, and SIGTERM comes in the middle of jobs.
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
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;

namespace
{

constexpr auto limit_ttl = 1500ms;
constexpr std::uint32_t most_jobs = 3;

/** The events at the places, in one log to which all processes and the test append. */
struct LimitLog {
    /// the process that uses each place at the end of the log
    std::map<std::uint32_t, std::string> in_use;
    std::size_t most = 0;
    /// jobs that began at a place in use
    std::size_t wrong = 0;
    std::size_t ended = 0;
};
LimitLog read_log(std::string const& file)
{
    LimitLog log;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::istringstream text(line);
        std::string name;
        std::string what;
        text >> name >> what;
        // the number comes last: "ends at 1", "gives up at 1"
        auto const digit = line.find_last_of(' ') + 1;
        auto const place = digit < line.size() ? static_cast<std::uint32_t>(line[digit] - '0') : 0U;
        if (what == "killed") {
            std::erase_if(log.in_use, [&](auto const& each) { return each.second == name; });
        } else if (what == "begins") {
            log.wrong += log.in_use.contains(place) ? 1U : 0U;
            log.in_use[place] = name;
            log.most = std::max(log.most, log.in_use.size());
        } else if (what == "ends" || what == "gives") {
            log.in_use.erase(place);
        }
        log.ended += what == "ends" ? 1U : 0U;
    }
    return log;
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "no more jobs run than the limit allows, and a killed process gives its places to others",
    "[redis][limit]")
{
    ScratchDirectory const directory;
    RunningStore const operations{server.url()};
    auto const file = directory.file("log");
    std::map<std::string, std::unique_ptr<ServiceProcess>> processes;
    for (auto const* name : {"anna", "boris", "carla"})
        processes[name] = std::make_unique<ServiceProcess>(
            std::vector<std::string>{
                std::string(TENURE_EXAMPLES) + "/limit", server.url(), name, std::to_string(most_jobs),
                std::to_string(limit_ttl.count())},
            file);
    auto const& any = *processes["anna"];
    REQUIRE(eventually([&] { return read_log(file).ended > 5; }, 20s));

    // a process in the middle of two jobs
    std::string victim;
    REQUIRE(eventually(
        [&] {
            std::map<std::string, int> jobs;
            for (auto const& [place, name] : read_log(file).in_use)
                if (++jobs[name] == 2)
                    victim = name;
            return !victim.empty();
        },
        20s));
    processes[victim]->kill();
    std::ofstream(file, std::ios::app) << victim << " killed" << std::endl;
    auto const places_used = [&] {
        std::size_t count = 0;
        auto const before = any.lines().size();
        return eventually(
            [&] {
                std::map<std::string, int> begun;
                auto const lines = any.lines();
                for (auto i = before; i < lines.size(); ++i)
                    if (auto const at = lines[i].find(" begins at "); at != std::string::npos)
                        ++begun[lines[i].substr(at)];
                count = begun.size();
                return count == most_jobs;
            },
            limit_ttl + 5s);
    };
    CHECK(places_used());
    processes[victim]->start();

    // a job whose place is taken away stops before another one begins there
    auto const range = numbered_keys("convert:", most_jobs);
    REQUIRE(eventually(
        [&] {
            auto const states = soon(operations.store().async_inspect(range, asio::use_future));
            auto const& state = states.at(1);
            if (state.kind == KeyState::Kind::held && !state.owner.starts_with("evicted/"))
                (void)soon(operations.store().async_evict(state, "test", as_future));
            auto const lines = any.lines();
            return std::ranges::any_of(lines, [](auto const& line) { return line.ends_with("gives up at 1"); });
        },
        30s));
    CHECK(places_used());

    for (auto const& [name, process] : processes)
        CHECK(process->end(SIGTERM, 5s) == ExitStatus{0, 0});
    auto const log = read_log(file);
    CHECK(log.wrong == 0);
    CHECK(log.most == most_jobs);
    // the jobs that ran at the signal have ended
    CHECK(log.in_use.empty());
    CHECK(server.client().keys("convert:*").size() <= 1);
}
