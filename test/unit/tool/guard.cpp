// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/guard.hpp"

#include "run/child_process.hpp"
#include "run/inheritance.hpp"
#include "run/processes.hpp"

#include "harness/eventually.hpp"
#include "harness/immovable.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using namespace tenure::tool;
using tenure::test::eventually;

namespace
{

std::chrono::nanoseconds boot_time()
{
    timespec time = {};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

/** The report of a forked keeper to the test. */
struct News {
    pid_t group = -1;
    pid_t guard = -1;
};

/** A keeper in a process of its own, so that it can be stopped and killed: starts a guard and a command, lets the guard
 * watch, and goes on as it is told. */
class ForkedKeeper : tenure::test::Immovable
{
public:
    struct Plan {
        std::string command;
        std::chrono::milliseconds terminate_in{600'000};
        std::chrono::milliseconds kill_in{600'000};
        bool open_gate = true;
        /// runs until the keeper is killed
        std::function<void(Guard&, ChildProcess&)> then = {};
    };

    explicit ForkedKeeper(Plan const& plan)
    {
        auto inheritance = Inheritance::record();
        auto started = boot_time();
        // a child that ends under a sanitizer may write what its parent has buffered
        std::fflush(stdout);
        id_ = ::fork();
        if (id_ == 0)
            live(plan, inheritance, started);
        news_.write.close();
        REQUIRE(id_ > 0);
        REQUIRE(notify(news_.read, &news, sizeof news));
        kill_at = started + plan.kill_in;
    }
    ~ForkedKeeper()
    {
        signal(SIGKILL);
        ::waitpid(id_, nullptr, 0);
        if (news.group > 0 && has_live_member(news.group))
            ::kill(-news.group, SIGKILL);
    }

    void signal(int number) const { ::kill(id_, number); }

    /** Waits for what the keeper, or its command, writes to the descriptor that is open as NEWS_FD. */
    [[nodiscard]] bool hears(char expected) const
    {
        char heard = 0;
        return notify(said_.read, &heard, 1) && heard == expected;
    }

    [[nodiscard]] bool hears_nothing_more() const
    {
        pollfd waits = {said_.read.number(), POLLIN, 0};
        return ::poll(&waits, 1, 0) == 0 || (waits.revents & POLLIN) == 0;
    }

    News news;
    std::chrono::nanoseconds kill_at{};

private:
    static bool notify(Descriptor const& from, void* what, std::size_t size)
    {
        pollfd waits = {from.number(), POLLIN, 0};
        return ::poll(&waits, 1, 10'000) == 1 && ::read(from.number(), what, size) == static_cast<ssize_t>(size);
    }

    [[noreturn]] void live(Plan const& plan, Inheritance const& inheritance, std::chrono::nanoseconds started)
    {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        Guard guard;
        // the command's standard output is what the test hears
        ::dup2(said_.write.number(), 1);
        ChildProcess child({"sh", "-c", plan.command}, {"PATH=/usr/bin:/bin"}, inheritance);
        if (!guard.watch(child.id(), {started + plan.terminate_in, started + plan.kill_in}))
            ::_exit(99);
        if (plan.open_gate)
            child.open_gate();
        auto const mine = News{child.id(), guard.id()};
        static_cast<void>(!::write(news_.write.number(), &mine, sizeof mine));
        if (plan.then)
            plan.then(guard, child);
        for (;;)
            ::pause();
    }

    PipePair news_ = make_pipe();
    PipePair said_ = make_pipe();
    pid_t id_ = -1;
};

/// says 'r' once it runs, together with a process that it leaves in the background
constexpr auto two_sleepers = "sleep 600 & printf r; sleep 600";
/// says 'r', then 't' when it is asked to end, and goes on all the same
constexpr auto deaf = "trap 'printf t' TERM; printf r; while :; do sleep 600 & wait $!; done";

} // namespace

TEST_CASE("when the keeper is killed, the guard kills the command and what it started", "[tool][guard]")
{
    ForkedKeeper keeper({two_sleepers});
    REQUIRE(keeper.hears('r'));
    REQUIRE(has_live_member(keeper.news.group));
    keeper.signal(SIGKILL);
    CHECK(eventually([&] { return !has_live_member(keeper.news.group); }));
    CHECK(eventually([&] { return ::kill(keeper.news.guard, 0) != 0; }));
}

TEST_CASE("when the keeper is stopped, the guard asks the command to end and then kills it in time", "[tool][guard]")
{
    ForkedKeeper keeper({deaf, 300ms, 700ms});
    REQUIRE(keeper.hears('r'));
    keeper.signal(SIGSTOP);
    CHECK(keeper.hears('t'));
    CHECK(boot_time() < keeper.kill_at);
    CHECK(has_live_member(keeper.news.group));
    REQUIRE(eventually([&] { return !has_live_member(keeper.news.group); }));
    CHECK(boot_time() >= keeper.kill_at);
    CHECK(boot_time() < keeper.kill_at + 250ms);
}

TEST_CASE("a guard whose deadlines are moved in time ends nobody", "[tool][guard]")
{
    ForkedKeeper::Plan plan{two_sleepers, 200ms, 300ms};
    plan.then = [](Guard& guard, ChildProcess&) {
        for (int i = 0; i < 100; ++i) {
            guard.move({boot_time() + 200ms, boot_time() + 300ms});
            std::this_thread::sleep_for(10ms);
        }
        std::this_thread::sleep_for(600s);
    };
    ForkedKeeper keeper(plan);
    REQUIRE(keeper.hears('r'));
    // the moves go on for a second, several times as long as the first deadlines
    CHECK_FALSE(eventually([&] { return !has_live_member(keeper.news.group); }, 800ms));
    CHECK(eventually([&] { return !has_live_member(keeper.news.group); }));
}

TEST_CASE("a guard that was killed or stopped is replaced, and the new one watches the same command", "[tool][guard]")
{
    auto const how = GENERATE(SIGKILL, SIGSTOP);
    ForkedKeeper::Plan plan{two_sleepers};
    plan.then = [](Guard& guard, ChildProcess&) {
        while (guard.check() && guard.started() < 2)
            std::this_thread::sleep_for(5ms);
        static_cast<void>(!::write(1, "n", 1));
    };
    ForkedKeeper keeper(plan);
    REQUIRE(keeper.hears('r'));
    ::kill(keeper.news.guard, how);
    REQUIRE(keeper.hears('n'));
    CHECK(::kill(keeper.news.guard, 0) != 0);
    CHECK(has_live_member(keeper.news.group));
    keeper.signal(SIGKILL);
    CHECK(eventually([&] { return !has_live_member(keeper.news.group); }));
}

TEST_CASE("when guard and keeper are killed together, the kernel kills the command", "[tool][guard]")
{
    ForkedKeeper keeper({"printf r; exec sleep 600"});
    REQUIRE(keeper.hears('r'));
    ::kill(keeper.news.guard, SIGSTOP);
    keeper.signal(SIGKILL);
    CHECK(eventually([&] { return !has_live_member(keeper.news.group); }));
    ::kill(keeper.news.guard, SIGKILL);
}

TEST_CASE("a keeper that is killed before it opens the gate leaves a command that never ran", "[tool][guard]")
{
    ForkedKeeper keeper({.command = "printf r", .open_gate = false});
    REQUIRE(has_live_member(keeper.news.group));
    keeper.signal(SIGKILL);
    CHECK(eventually([&] { return !has_live_member(keeper.news.group); }));
    CHECK(keeper.hears_nothing_more());
}

TEST_CASE("only one of keeper and guard asks the command to end", "[tool][guard]")
{
    Guard guard;
    CHECK(guard.begin_termination());
    CHECK_FALSE(guard.begin_termination());
    CHECK_FALSE(guard.has_acted());
}

TEST_CASE("a guard keeps none of the keeper's descriptors open", "[tool][guard]")
{
    auto pipe = make_pipe();
    auto const kept = ::fcntl(pipe.write.number(), F_DUPFD, 3);
    Guard guard;
    CHECK(guard.check());
    // the guard has closed what it does not need by the time it confirms
    REQUIRE(guard.watch(::getpid(), {boot_time() + 600s, boot_time() + 600s}));
    pipe.write.close();
    ::close(kept);
    char nothing = 0;
    pollfd waits = {pipe.read.number(), POLLIN, 0};
    CHECK(::poll(&waits, 1, 5'000) == 1);
    CHECK(::read(pipe.read.number(), &nothing, 1) == 0);
}
