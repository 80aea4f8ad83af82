// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The live screens of the tool on terminals of several sizes, as tmux captures them.
#include "system/support/tmux_screen.hpp"
#include "system/support/tool_process.hpp"

#include "harness/eventually.hpp"
#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/types.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

struct Size {
    std::size_t columns;
    std::size_t rows;
};

std::ptrdiff_t count_of(std::vector<std::string> const& lines, std::string const& beginning)
{
    return std::ranges::count_if(lines, [&](std::string const& line) { return line.starts_with(beginning); });
}

/** The last line that is not empty. */
std::string last_of(std::vector<std::string> const& lines)
{
    auto const last = std::find_if(lines.rbegin(), lines.rend(), [](std::string const& line) { return !line.empty(); });
    return last == lines.rend() ? std::string{} : *last;
}

/** A pool of 60 slots of which 40 are held. */
struct FullPool : RedisTest {
    FullPool()
    {
        require_tmux();
        auto redis = server.client();
        for (int slot = 0; slot < 40; ++slot)
            static_cast<void>(redis.call("SET", "job:" + std::to_string(slot), "x", "PX", 600'000));
    }
};

std::string watch_on(RedisServer const& server, std::string const& more = {})
{
    return tool_path() + " status --pool job: --size 60 --watch --store " + server.url() + more;
}

} // namespace

TEST_CASE("the demo is one clean screen at every size, and leaves its summary on the normal one", "[integration][tool]")
{
    require_tmux();
    auto const size = GENERATE(Size{80, 24}, Size{100, 30}, Size{200, 50});
    TmuxScreen const screen(tool_path() + " demo --seconds 3 --ttl 1s", size.columns, size.rows);
    REQUIRE(screen.shows("works under slot"));
    std::string title;
    // more than ten pictures, each over the one before
    for (int pictures = 0; pictures < 10;) {
        auto const lines = screen.lines();
        REQUIRE(screen.is_alternate());
        INFO(screen.text());
        REQUIRE_FALSE(lines.empty());
        CHECK(lines.front().starts_with("tenure demo: "));
        CHECK(count_of(lines, "tenure demo: ") == 1);
        CHECK(count_of(lines, "SLOT ") == 1);
        CHECK_THAT(screen.text(), ContainsSubstring("WORKER    NOW") && ContainsSubstring("worker-5"));
        CHECK(lines.size() <= size.rows);
        if (lines.front() != title)
            ++pictures;
        title = lines.front();
    }
    REQUIRE(screen.shows("code=0"));
    CHECK(screen.is_normal());
    CHECK(count_of(screen.lines(), "tenure demo: ") == 0);
    CHECK(count_of(screen.lines(), "WORKER    SLOTS IT HAD") == 1);
    CHECK_THAT(
        screen.text(), ContainsSubstring("was killed while it held slot") &&
                           ContainsSubstring("was evicted from slot") &&
                           ContainsSubstring("No slot was ever held by two workers"));
}

TEST_CASE("the demo follows the size of its terminal, and says what it leaves out", "[integration][tool]")
{
    require_tmux();
    TmuxScreen const screen(tool_path() + " demo --workers 20 --slots 12 --seconds 60", 200, 50);
    REQUIRE(screen.shows("worker-20"));
    screen.resize(60, 20);
    REQUIRE(screen.shows(" more"));
    auto const lines = screen.lines();
    INFO(screen.text());
    CHECK(lines.size() <= 20);
    CHECK(lines.front().starts_with("tenure demo: "));
    CHECK(count_of(lines, "SLOT ") == 1);
    CHECK(count_of(lines, "WORKER ") == 1);
    CHECK(count_of(lines, "... ") == 2);
    screen.resize(200, 50);
    CHECK(screen.shows("worker-20"));
    CHECK(count_of(screen.lines(), "... ") == 0);
}

TEST_CASE("a live screen gives the terminal back when it is interrupted or terminated", "[integration][tool]")
{
    require_tmux();
    auto const signal = GENERATE(SIGINT, SIGTERM, SIGQUIT);
    ScratchDirectory const directory;
    TmuxScreen const screen(
        "echo before; sh -c 'echo $$ > " + directory.file("pid") + "; exec " + tool_path() + " demo --seconds 60'", 80,
        24);
    REQUIRE(screen.shows("works under slot"));
    CHECK_FALSE(screen.is_normal());
    CHECK(count_of(screen.lines(), "before") == 0);
    pid_t pid = -1;
    REQUIRE((std::ifstream(directory.file("pid")) >> pid && pid > 1));
    ::kill(pid, signal);
    CHECK(screen.shows("code=" + std::to_string(128 + signal)));
    CHECK(screen.is_normal());
    CHECK(count_of(screen.lines(), "before") == 1);
    CHECK(count_of(screen.lines(), "tenure demo: ") == 0);
}

TEST_CASE_METHOD(FullPool, "a watched status says how many rows the screen has no room for", "[integration][tool]")
{
    TmuxScreen const screen(watch_on(server), 80, 24);
    REQUIRE(screen.shows("40 of 60 held"));
    auto lines = screen.lines();
    INFO(screen.text());
    CHECK(lines.size() <= 24);
    CHECK(lines.front().starts_with("job:0..59 on redis://"));
    CHECK(count_of(lines, "job:0..59 on ") == 1);
    CHECK(count_of(lines, "SLOT ") == 1);
    // of 60 slots, 20 rows show the first: two lines stand above the headings, and one below says the rest
    CHECK(last_of(lines) == "... 40 more");
    static_cast<void>(server.client().call("DEL", "job:7"));
    REQUIRE(screen.shows("39 of 60 held"));
    screen.resize(80, 70);
    REQUIRE(screen.shows("\n59 "));
    CHECK(count_of(screen.lines(), "... ") == 0);
    screen.press("C-c");
    REQUIRE(screen.shows("code=0"));
    CHECK(screen.is_normal());
    CHECK(screen.shows("39 of 60 held"));
}

TEST_CASE_METHOD(
    FullPool, "a watched status shows on its screen that the store is away, and goes on", "[integration][tool]")
{
    TmuxScreen const screen(watch_on(server), 120, 30);
    REQUIRE(screen.shows("40 of 60 held"));
    server.pause();
    REQUIRE(screen.shows("not newer:"));
    REQUIRE(screen.shows("no answer"));
    CHECK(count_of(screen.lines(), "job:0..59 on ") == 1);
    CHECK(screen.is_alternate());
    server.resume();
    REQUIRE(screen.shows("again each second"));
}

TEST_CASE("a suspended screen gives the shell its own, and comes back", "[integration][tool]")
{
    require_redis();
    require_tmux();
    RedisServer server;
    TmuxScreen const screen("exec env PS1='prompt> ' bash --norc --noprofile -i", 80, 24);
    REQUIRE(screen.shows("prompt> "));
    screen.type(watch_on(server));
    REQUIRE(screen.shows("0 of 60 held"));
    screen.press("C-z");
    REQUIRE(screen.shows("Stopped"));
    CHECK(screen.is_normal());
    screen.type("fg");
    REQUIRE(screen.shows("again each second"));
    CHECK(screen.is_alternate());
}

TEST_CASE_METHOD(
    FullPool, "there are colours on a terminal, unless NO_COLOR or the option forbids them", "[integration][tool]")
{
    auto const colored = [](std::string const& command_line) {
        TmuxScreen const screen(command_line, 80, 24);
        REQUIRE(screen.shows("code=0"));
        return screen.colored_text().find("\x1b[") != std::string::npos;
    };
    auto const status = tool_path() + " status --lock job:0 --store " + server.url();
    CHECK(colored(status));
    CHECK_FALSE(colored(status + " --color never"));
    CHECK_FALSE(colored("NO_COLOR=1 " + status));
    CHECK(colored("NO_COLOR=1 " + status + " --color always"));
    CHECK_FALSE(colored("TERM=dumb " + status));
    CHECK_FALSE(colored(status + " | cat"));
    CHECK(colored(status + " --color always | cat"));
}
