// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure run` as people run it: many keepers on a small pool, killed and stopped at random (S1, S13, L1).
#include "harness/auditor.hpp"
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

constexpr std::uint32_t slots = 3;
constexpr std::chrono::milliseconds ttl = 2000ms;

double milliseconds(std::int64_t nanoseconds)
{
    return static_cast<double>(nanoseconds) / 1e6;
}

std::string content(std::string const& path)
{
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

/** Waits on a process that is not a child of this one. */
class ProcessWatch
{
public:
    explicit ProcessWatch(pid_t pid)
        : pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))
    {
    }
    ProcessWatch(ProcessWatch const&) = delete;
    ProcessWatch& operator=(ProcessWatch const&) = delete;
    ~ProcessWatch()
    {
        if (pidfd_ >= 0)
            ::close(pidfd_);
    }

    /** The instant at which it was seen to be gone; empty if it still lives after `limit`. */
    [[nodiscard]] std::optional<std::int64_t> wait_gone(std::chrono::milliseconds limit) const
    {
        pollfd ready{pidfd_, POLLIN, 0};
        if (pidfd_ >= 0 && ::poll(&ready, 1, static_cast<int>(limit.count())) <= 0)
            return std::nullopt;
        return boottime_ns();
    }

private:
    /// -1: it was gone before
    int pidfd_;
};

/** One `tenure run` whose command occupies the auditor's cell. */
struct Keeper {
    int number;
    ChildProcess process;
    /// while it had a slot: what it still has of that is on its way out
    bool struck = false;
};

/** What a keeper got while its command held a slot. */
struct Blow {
    std::uint32_t cell;
    std::int64_t at;
    /// no later than this may the command end: the lease's validity, told from the key's expiry
    std::int64_t bound;
    std::int64_t gone;
    bool killed;
};

/** A slot whose keeper got its first fault before its command started, or after it ended. The auditor does not see it.
 */
struct BareGrant {
    std::uint32_t cell;
    std::int64_t at;
};

class Fleet
{
public:
    explicit Fleet(std::size_t size, char const* hold_ms = nullptr)
        : hold_ms_(hold_ms != nullptr ? hold_ms : "")
    {
        for (std::size_t i = 0; i < size; ++i)
            keepers.push_back(start());
    }

    /** A keeper whose command holds for a random time, and one time in three ignores SIGTERM. */
    Keeper start()
    {
        auto const number = ++started;
        Command command{
            {tool_path(), "run", "--store", server.url(), "--pool", "thread_id_lock:", "--size", std::to_string(slots),
             "--ttl", std::to_string(ttl.count()) + "ms", "--wait", "5m", "--", test_program("cell_holder"), audit,
             hold_ms_.empty() ? std::to_string(300 + random() % 1500) : hold_ms_},
            {{"TENURE_TEST_KEEPER", std::to_string(number)}},
            directory.file("keepers.log")};
        if (number % 3 == 0)
            command.arguments.emplace_back("ignore-term");
        return Keeper{number, ChildProcess{command}};
    }

    /** The command that runs under a keeper and is in its cell, if there is one. */
    [[nodiscard]] std::optional<Holding> command_of(Keeper const& keeper) const
    {
        auto const mark = "TENURE_TEST_KEEPER=" + std::to_string(keeper.number) + '\0';
        auto const log = auditor.holdings();
        for (auto holding = log.rbegin(); holding != log.rend(); ++holding) {
            if (holding->left != 0)
                continue;
            auto const environment = content("/proc/" + std::to_string(holding->pid) + "/environ");
            if (environment.find(mark) != std::string::npos)
                return *holding;
        }
        return std::nullopt;
    }

    /** With a chance of one in four any keeper, else one whose command holds a slot, if there is one. */
    Keeper& victim()
    {
        auto const first = random() % keepers.size();
        if (random() % 4 != 0)
            for (std::size_t i = 0; i < keepers.size(); ++i)
                if (auto& keeper = keepers[(first + i) % keepers.size()]; command_of(keeper))
                    return keeper;
        return keepers[first];
    }

    /** Kills or stops the keeper and waits for the end of its command. Empty if it had none, or had just let go; a slot
     *  that it has without a command is added to `bare`. */
    std::optional<Blow> strike(Keeper& keeper, bool kill, bool ends_by_itself = true)
    {
        auto const command = command_of(keeper);
        std::optional<ProcessWatch> watch;
        if (command)
            watch.emplace(command->pid);
        auto const at = boottime_ns();
        if (kill)
            keeper.process.kill();
        else
            keeper.process.pause();
        auto const cell = command ? command->cell : slot_of(keeper);
        bool const first = cell && !std::exchange(keeper.struck, true);
        if (!command) {
            if (first)
                bare.push_back({*cell, at});
            return std::nullopt;
        }
        auto const expiry = redis.pexpiretime("thread_id_lock:" + std::to_string(command->cell));
        auto const gone = watch->wait_gone(ttl + 5s);
        if (!gone) {
            FAIL_CHECK("the command of a keeper that was " << (kill ? "killed" : "stopped") << " lives on");
            return std::nullopt;
        }
        // released between the two reads: the key is free or has another holder. A command that never ends by itself
        // has left because of its guard
        if (expiry < 0 || (ends_by_itself && auditor_left(*command)))
            return std::nullopt;
        auto const valid_until = expiry * 1'000'000 - wall_clock_offset() -
                                 std::chrono::nanoseconds{ttl / 100}.count() - std::chrono::nanoseconds{10ms}.count();
        return Blow{command->cell, at, valid_until, *gone, kill};
    }

    RedisServer server;
    RedisClient redis = server.client();
    ScratchDirectory directory;
    std::string audit = directory.file("audit");
    Auditor auditor = Auditor::create(audit, slots);
    std::mt19937_64 random{20240229};
    int started = 0;
    std::vector<Keeper> keepers;
    std::vector<BareGrant> bare;

private:
    /** The slot whose key names this keeper as its owner. */
    [[nodiscard]] std::optional<std::uint32_t> slot_of(Keeper const& keeper)
    {
        auto const mark = ":" + std::to_string(keeper.process.pid()) + "/";
        for (std::uint32_t cell = 0; cell < slots; ++cell)
            if (auto const owner = redis.get("thread_id_lock:" + std::to_string(cell)))
                if (owner->find(mark) != std::string::npos)
                    return cell;
        return std::nullopt;
    }

    [[nodiscard]] bool auditor_left(Holding const& command) const
    {
        auto const log = auditor.holdings();
        return std::any_of(log.begin(), log.end(), [&](Holding const& holding) {
            return holding.pid == command.pid && holding.process_started == command.process_started &&
                   holding.left != 0;
        });
    }

    std::string hold_ms_;
};

/** When the cell was held again after a blow at that instant; empty if it was not. */
std::optional<std::int64_t>
held_again(std::vector<Holding> const& log, std::vector<BareGrant> const& bare, std::uint32_t cell, std::int64_t blow)
{
    std::optional<std::int64_t> first;
    auto const consider = [&](std::uint32_t where, std::int64_t when) {
        if (where == cell && when > blow && (!first || when < *first))
            first = when;
    };
    for (auto const& holding : log)
        consider(holding.cell, holding.entered);
    for (auto const& grant : bare)
        consider(grant.cell, grant.at);
    return first;
}

} // namespace

TEST_CASE("keepers of a pool are killed and stopped, and no slot ever has two live commands", "[integration]")
{
    require_redis();
    Fleet fleet{8};
    std::vector<Blow> blows;
    int kills = 0;
    int stops = 0;
    auto const end = boottime_ns() + std::chrono::nanoseconds{soak_time(12s)}.count();
    while (boottime_ns() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds{50 + fleet.random() % 150});
        for (auto& keeper : fleet.keepers)
            if (!keeper.process.running())
                keeper = fleet.start();
        auto& victim = fleet.victim();
        bool const kill = fleet.random() % 4 != 0;
        if (auto const blow = fleet.strike(victim, kill))
            blows.push_back(*blow);
        ++(kill ? kills : stops);
        if (!kill && fleet.random() % 2 == 0) {
            // it finds out by itself what has happened meanwhile
            victim.process.resume();
        } else {
            victim.process.kill();
            victim = fleet.start();
        }
    }

    // Without faults every waiter gets a slot again; then all are told to end.
    auto const before = fleet.auditor.holdings().size();
    CHECK(eventually([&] { return fleet.auditor.holdings().size() >= before + 3; }, ttl + 5s));
    std::this_thread::sleep_for(ttl);
    for (auto& keeper : fleet.keepers)
        keeper.process.signal(SIGTERM);
    for (auto& keeper : fleet.keepers) {
        // those whose command ignores SIGTERM end with their command
        CHECK(keeper.process.wait_for(10s).has_value());
    }
    CHECK(fleet.redis.keys("thread_id_lock:*").empty());

    for (auto const& violation : fleet.auditor.violations())
        FAIL_CHECK(violation.describe());
    auto const log = fleet.auditor.holdings();
    std::int64_t slowest_kill = 0;
    std::int64_t least_margin = INT64_MAX;
    std::int64_t slowest_return = 0;
    auto const has_to_return = [&](std::uint32_t cell, std::int64_t at) {
        auto const again = held_again(log, fleet.bare, cell, at);
        CHECK(again);
        slowest_return = std::max(slowest_return, again.value_or(INT64_MAX) - at);
    };
    for (auto const& blow : blows) {
        CHECK(blow.gone <= blow.bound);
        least_margin = std::min(least_margin, blow.bound - blow.gone);
        if (blow.killed)
            slowest_kill = std::max(slowest_kill, blow.gone - blow.at);
        has_to_return(blow.cell, blow.at);
    }
    for (auto const& grant : fleet.bare)
        has_to_return(grant.cell, grant.at);
    CHECK(slowest_return <= std::chrono::nanoseconds{ttl + 1s}.count());
    WARN(
        log.size() << " holdings of " << slots << " slots; " << kills << " keepers killed, " << stops << " stopped, "
                   << blows.size() << " of them while holding, " << fleet.bare.size() << " without a command\n"
                   << "after kill -9 a command lived for at most " << milliseconds(slowest_kill)
                   << " ms; least time left of the validity when a command was gone " << milliseconds(least_margin)
                   << " ms; a slot was held again after at most " << milliseconds(slowest_return) << " ms");
    CHECK(log.size() > 20);
    CHECK(blows.size() > 5);
    if (!fleet.auditor.violations().empty())
        WARN(content(fleet.directory.file("keepers.log")));
}

TEST_CASE("kill -9 of a keeper alone ends its command at once", "[integration]")
{
    require_redis();
    Fleet fleet{0, "600000"};
    std::int64_t slowest = 0;
    for (int round = 0; round < (long_form() ? 60 : 6); ++round) {
        auto keeper = fleet.start();
        REQUIRE(eventually([&] { return fleet.command_of(keeper).has_value(); }));
        auto const blow = fleet.strike(keeper, true);
        REQUIRE(blow);
        CHECK(blow->gone <= blow->bound);
        slowest = std::max(slowest, blow->gone - blow->at);
        REQUIRE(eventually([&] { return fleet.redis.keys("thread_id_lock:*").empty(); }, ttl + 1s));
    }
    WARN("the slowest command was gone " << milliseconds(slowest) << " ms after kill -9 of its keeper");
    CHECK(fleet.auditor.violations().empty());
}

TEST_CASE("a keeper that is stopped past its lease finds its command ended before", "[integration]")
{
    require_redis();
    Fleet fleet{0, "600000"};
    for (int round = 0; round < (long_form() ? 20 : 3); ++round) {
        // the third one's command ignores SIGTERM
        auto keeper = fleet.start();
        REQUIRE(eventually([&] { return fleet.command_of(keeper).has_value(); }));
        auto const blow = fleet.strike(keeper, false, false);
        REQUIRE(blow);
        WARN("stopped: the command was gone " << milliseconds(blow->bound - blow->gone) << " ms before valid_until");
        CHECK(blow->gone <= blow->bound);
        REQUIRE(eventually([&] { return fleet.redis.keys("thread_id_lock:*").empty(); }, ttl + 1s));
        keeper.process.resume();
        auto const status = keeper.process.wait_for(10s);
        REQUIRE(status);
        CHECK(status->code == 79);
    }
    CHECK(fleet.auditor.violations().empty());
}
