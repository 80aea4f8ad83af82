// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/auditor.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

std::int64_t after(std::chrono::nanoseconds time)
{
    return boottime_ns() + time.count();
}

/** Runs 6 raw workers on 2 slots for 4 s. */
std::vector<Violation> audit_raw_workers(std::string const& release, std::size_t& grants)
{
    RedisServer server;
    ScratchDirectory directory;
    auto auditor = Auditor::create(directory.file("audit"), 2);
    std::vector<ChildProcess> workers;
    for (int i = 0; i < 6; ++i)
        workers.emplace_back(Command{
            {test_program("raw_worker"), std::to_string(server.port()), directory.file("audit"), "slot:", "2", "150",
             "4", release}});
    for (auto& worker : workers)
        REQUIRE(worker.wait_for(20s).value_or(ExitStatus{}).code == 0);
    grants = auditor.holdings().size();
    return auditor.violations();
}

} // namespace

TEST_CASE("two live holders of one cell are a violation", "[harness]")
{
    ScratchDirectory directory;
    auto auditor = Auditor::create(directory.file("audit"), 3);
    auto other = Auditor::open(directory.file("audit"));
    auditor.enter(1, after(10s));
    other.enter(2, after(10s));
    CHECK(auditor.violations().empty());
    other.enter(1, after(10s));
    CHECK_FALSE(auditor.violations().empty());
    CHECK(auditor.violations().at(0).later.cell == 1);
}

TEST_CASE("holders that left, or whose validity has ended, are no violation", "[harness]")
{
    ScratchDirectory directory;
    auto auditor = Auditor::create(directory.file("audit"), 1);
    auditor.leave(auditor.enter(0, after(10s)));
    auto const lapses = after(1ms);
    auto const lapsed = auditor.enter(0, lapses);
    while (boottime_ns() <= lapses) {
    }
    CHECK_FALSE(auditor.occupied(0));
    auto const present = auditor.enter(0, after(10s));
    CHECK(auditor.violations().empty());

    SECTION("a validity that was extended counts")
    {
        auditor.leave(present);
        auto const extended = auditor.enter(0, after(1ms));
        auditor.extend(extended, after(10s));
        auditor.enter(0, after(10s));
        CHECK_FALSE(auditor.violations().empty());
    }
    SECTION("a holder that comes back too late has no effect")
    {
        auditor.leave(lapsed);
        auditor.enter(0, lapses);
        CHECK(auditor.violations().empty());
        CHECK(auditor.occupied(0));
    }
}

TEST_CASE("the log alone shows an overlap that no entry detected", "[harness]")
{
    ScratchDirectory directory;
    auto auditor = Auditor::create(directory.file("audit"), 1);
    auto const first = auditor.enter(0, after(1ms));
    while (auditor.occupied(0)) {
    }
    auditor.leave(auditor.enter(0, after(10s)));
    REQUIRE(auditor.violations().empty());
    auditor.extend(first, after(10s));
    CHECK(auditor.violations().size() == 1);
}

TEST_CASE("a fencing token that is not greater than all before it in its cell is out of order", "[harness]")
{
    ScratchDirectory directory;
    auto auditor = Auditor::create(directory.file("audit"), 2);
    auto const hold = [&](std::uint32_t cell, std::uint64_t token) {
        auditor.leave(auditor.enter(cell, after(10s), token));
    };
    hold(0, 7);
    hold(1, 5);
    hold(0, 9);
    CHECK(auditor.tokens_out_of_order() == 0);
    // it was over before it came
    auditor.leave(auditor.enter(0, after(-1ms), 8));
    CHECK(auditor.tokens_out_of_order() == 0);
    hold(0, 9);
    CHECK(auditor.tokens_out_of_order() == 1);
    hold(0, 8);
    CHECK(auditor.tokens_out_of_order() == 2);
}

TEST_CASE("a holder that was told too late that it still holds the key is a violation", "[harness]")
{
    ScratchDirectory directory;
    auto auditor = Auditor::create(directory.file("audit"), 1);
    auto const first = auditor.enter(0, after(200ms), 7, 0xabc);
    CHECK(auditor.occupant(0).value().fencing_token == 7);
    CHECK(auditor.occupant(0).value().mark == 0xabc);
    auditor.confirm(first, boottime_ns());
    while (auditor.occupied(0))
        std::this_thread::sleep_for(1ms);
    auto const second = auditor.enter(0, after(10s), 8);
    CHECK(auditor.violations().empty());
    auditor.confirm(first, boottime_ns());
    CHECK(auditor.violations().size() == 1);
    auditor.leave(second);
    CHECK_FALSE(auditor.occupant(0));
}

TEST_CASE("a holder that is a process leaves by dying, not by being stopped", "[harness]")
{
    ScratchDirectory directory;
    auto auditor = Auditor::create(directory.file("audit"), 1);
    ChildProcess holder{Command{
        {test_program("cell_holder"), directory.file("audit")}, {{"TENURE_SLOT", "0"}, {"TENURE_FENCING_TOKEN", "7"}}}};
    while (auditor.holdings().empty())
        REQUIRE(holder.running());
    holder.pause();
    REQUIRE(auditor.occupied(0));
    REQUIRE(auditor.holdings().at(0).fencing_token == 7);

    SECTION("killed, it is gone")
    {
        holder.kill();
        CHECK_FALSE(auditor.occupied(0));
        auditor.enter(0, after(10s));
        CHECK(auditor.violations().empty());
    }
    SECTION("stopped, it is still there")
    {
        auditor.enter(0, after(10s));
        CHECK_FALSE(auditor.violations().empty());
    }
    SECTION("terminated, it says that it leaves")
    {
        holder.signal(SIGTERM);
        holder.resume();
        CHECK(holder.wait_for(5s).value_or(ExitStatus{}).code == 0);
        CHECK(auditor.holdings().at(0).left != 0);
    }
}

TEST_CASE("the auditor catches workers that release without comparing", "[harness][integration]")
{
    require_redis();
    std::size_t grants = 0;
    auto const violations = audit_raw_workers("unconditional", grants);
    WARN(violations.size() << " violations in " << grants << " grants of workers with the planted bug");
    CHECK(violations.size() > 3);
}

TEST_CASE("the auditor is content with workers that compare before they release", "[harness][integration]")
{
    require_redis();
    std::size_t grants = 0;
    auto const violations = audit_raw_workers("compare", grants);
    for (auto const& violation : violations)
        UNSCOPED_INFO(violation.describe());
    CHECK(violations.empty());
    CHECK(grants > 20);
}
