// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// examples/leader.cpp: three processes campaign and show the leader. The leader is killed, the next one is stopped for
// longer than the ttl, the one after that resigns.
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
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;

namespace
{

constexpr auto leader_ttl = 1500ms;

/** One process that campaigns, and what it has printed. */
class Candidate
{
public:
    Candidate(std::string const& url, std::string name, ScratchDirectory const& directory)
        : name_(std::move(name))
        , process_(
              {std::string(TENURE_EXAMPLES) + "/leader", url, name_, "host-of-" + name_ + ":80",
               std::to_string(leader_ttl.count())},
              directory.file(name_ + ".log"))
    {
    }

    [[nodiscard]] ServiceProcess& process() noexcept { return process_; }
    [[nodiscard]] std::string shown_as() const { return "leader: " + name_ + " at host-of-" + name_ + ":80"; }

    /** The last leader that it has shown. */
    [[nodiscard]] std::string shows() const
    {
        auto lines = process_.lines();
        std::erase_if(lines, [](std::string const& line) { return !line.starts_with("leader: "); });
        return lines.empty() ? "" : lines.back();
    }
    /** The fencing token of its last term; 0 if it has not led, or leads no longer. */
    [[nodiscard]] std::uint64_t term() const
    {
        std::string const begins = "I lead, with fencing token ";
        std::uint64_t token = 0;
        for (auto const& line : process_.lines())
            if (line.starts_with(begins))
                token = std::stoull(line.substr(begins.size()));
            else if (line.starts_with("I lead no longer"))
                token = 0;
        return token;
    }

private:
    std::string name_;
    ServiceProcess process_;
};

using ContendedKeys = std::vector<std::unique_ptr<Candidate>>;

/** Waits until one candidate leads, under a newer token than the last, and all of them show it. */
Candidate& next_leader(ContendedKeys const& candidates, std::uint64_t& last_term)
{
    Candidate* leader = nullptr;
    REQUIRE(eventually(
        [&] {
            auto const found =
                std::ranges::find_if(candidates, [&](auto const& candidate) { return candidate->term() > last_term; });
            if (found == candidates.end())
                return false;
            leader = found->get();
            return std::ranges::all_of(
                candidates, [&](auto const& candidate) { return candidate->shows() == leader->shown_as(); });
        },
        leader_ttl + 8s));
    CHECK(std::ranges::count_if(candidates, [&](auto const& candidate) { return candidate->term() > last_term; }) == 1);
    last_term = leader->term();
    return *leader;
}

/** Takes a candidate out. */
std::unique_ptr<Candidate> taken_out(ContendedKeys& candidates, Candidate const& which)
{
    auto const place = std::ranges::find_if(candidates, [&](auto const& each) { return each.get() == &which; });
    auto taken = std::move(*place);
    candidates.erase(place);
    return taken;
}

} // namespace

TEST_CASE_METHOD(
    RedisTest, "another process leads after a leader dies, stalls or resigns, and followers see it", "[redis][leader]")
{
    ScratchDirectory const directory;
    ContendedKeys candidates;
    for (auto const* name : {"anna", "boris", "carla", "dora"})
        candidates.push_back(std::make_unique<Candidate>(server.url(), name, directory));
    std::uint64_t term = 0;

    taken_out(candidates, next_leader(candidates, term))->process().kill();

    auto stalled = taken_out(candidates, next_leader(candidates, term));
    stalled->process().pause();
    auto& third = next_leader(candidates, term);
    stalled->process().resume();
    CHECK(eventually([&] { return stalled->process().count("I lead no longer: ") == 1; }));
    CHECK(eventually([&] { return stalled->shows() == third.shown_as(); }));

    auto const resigned = taken_out(candidates, third);
    CHECK(resigned->process().end(SIGTERM, 5s) == ExitStatus{0, 0});
    CHECK(resigned->process().count("I lead no longer: I resign") == 1);
    candidates.push_back(std::move(stalled));
    (void)next_leader(candidates, term);

    for (auto const& candidate : candidates)
        CHECK(candidate->process().end(SIGINT, 5s) == ExitStatus{0, 0});
    CHECK(server.client().keys("reports:leader").empty());
}
