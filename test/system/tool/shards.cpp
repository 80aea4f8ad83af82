// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// `tenure run --shards` and `tenure status --shards`: a command for each shard that a program owns.
#include "system/support/tool_process.hpp"

#include "harness/paths.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "run/processes.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using tenure::tool::has_live_member;

namespace
{

/// tells what it got, and ends well when it is asked to
constexpr auto polite = "echo \"owns=$TENURE_SHARD key=$TENURE_KEY token=$TENURE_FENCING_TOKEN group=$$\";"
                        "trap 'echo gone=$TENURE_SHARD; exit 0' TERM; while :; do sleep 0.05; done";
constexpr auto stubborn = "echo \"owns=$TENURE_SHARD group=$$\"; trap '' TERM; while :; do sleep 0.05; done";

/** A store for programs of this machine, and the group `orders` in it. */
struct Group {
    explicit Group(char const* count)
        : count(count)
    {
    }

    [[nodiscard]] ToolProcess member(char const* command, std::vector<std::string> options = {}) const
    {
        options.insert(options.begin(), {"run", "--shards", "orders", "--count", count, "--ttl", "2s"});
        options.insert(options.end(), {"--", "sh", "-c", command});
        return ToolProcess(std::move(options), url);
    }
    /** How many shards each member has, in ascending order. */
    [[nodiscard]] std::vector<std::size_t> counts() const
    {
        ToolProcess status({"status", "--shards", "orders", "--count", count, "--json"}, url);
        CHECK(status.exit_code() == 0);
        std::vector<std::size_t> result;
        auto const text = status.output();
        auto const listing = boost::json::parse(text).as_object();
        for (auto const& owner : listing.at("owners").as_array())
            if (!owner.at("members").as_array().empty())
                result.push_back(owner.at("shards").as_array().size());
        std::ranges::sort(result);
        return result;
    }
    [[nodiscard]] bool comes_to(std::vector<std::size_t> const& wanted) const
    {
        return eventually([&] { return counts() == wanted; }, 20s);
    }

    char const* count;
    ScratchDirectory directory{ScratchDirectory::Place::memory};
    std::string url = "file://" + directory.path();
};

/** The numbers behind the word, in the order in which the commands have printed them. */
std::vector<long> numbers_after(ToolProcess const& tool, std::string const& word)
{
    std::vector<long> numbers;
    std::istringstream words(tool.output());
    for (std::string one; words >> one;)
        if (one.starts_with(word))
            numbers.push_back(std::stol(one.substr(word.size())));
    return numbers;
}

/** The token of each shard that a program has owned, the last one. */
std::map<long, long> tokens(ToolProcess const& tool)
{
    auto const shards = numbers_after(tool, "owns=");
    auto const numbers = numbers_after(tool, "token=");
    std::map<long, long> result;
    for (std::size_t i = 0; i < std::min(shards.size(), numbers.size()); ++i)
        result[shards[i]] = numbers[i];
    return result;
}

} // namespace

TEST_CASE("programs share shards, and one that comes or goes moves only its part", "[integration][tool]")
{
    std::optional<RedisServer> server;
    Group group("6");
    SECTION("on Redis")
    {
        require_redis();
        group.url = server.emplace().url();
    }
    SECTION("in a directory")
    {
    }

    ToolProcess first = group.member(polite, {"--worker", "w1"});
    REQUIRE(group.comes_to({6}));
    REQUIRE(eventually([&] { return numbers_after(first, "owns=").size() == 6; }));
    CHECK_THAT(first.output(), ContainsSubstring("owns=5 key=orders:shard:5 token="));

    ToolProcess second = group.member(polite, {"--worker", "w2"});
    REQUIRE(group.comes_to({3, 3}));
    REQUIRE(eventually([&] { return numbers_after(second, "token=").size() == 3; }));
    auto const moved = numbers_after(second, "owns=");
    CHECK(std::set<long>(moved.begin(), moved.end()).size() == 3);
    auto const given_up = numbers_after(first, "gone=");
    CHECK(std::set<long>(given_up.begin(), given_up.end()) == std::set<long>(moved.begin(), moved.end()));
    auto const earlier = tokens(first);
    for (auto const& [shard, token] : tokens(second))
        CHECK(token > earlier.at(shard));

    ToolProcess status({"status", "--shards", "orders", "--count", "6"}, group.url);
    CHECK(status.exit_code() == 0);
    CHECK_THAT(
        status.output(), ContainsSubstring("2 members, 6 of 6 shards owned") && ContainsSubstring("w1") &&
                             ContainsSubstring("w2") && !ContainsSubstring("without an owner"));

    second.process().signal(SIGTERM);
    // its commands ended well
    CHECK(second.exit_code() == 0);
    CHECK(numbers_after(second, "gone=").size() == 3);
    REQUIRE(group.comes_to({6}));
    REQUIRE(eventually([&] { return numbers_after(first, "owns=").size() == 9; }));
    first.process().signal(SIGINT);
    CHECK(first.exit_code() == 128 + SIGINT);
    CHECK(group.counts().empty());
}

TEST_CASE("a command that ends by itself is not started again, and its shard stays held", "[integration][tool]")
{
    Group const group("3");
    ToolProcess member = group.member("echo owns=$TENURE_SHARD; test -z \"$(cat)\" && exit 3");
    REQUIRE(member.says("orders:shard:2 has ended with exit code 3: its shard stays held without a command"));
    REQUIRE(eventually([&] { return numbers_after(member, "owns=").size() == 3; }));
    // more than a ttl
    CHECK_FALSE(eventually([&] { return numbers_after(member, "owns=").size() > 3; }, 2500ms));
    CHECK(group.counts() == std::vector<std::size_t>{3});
    member.process().signal(SIGTERM);
    CHECK(member.exit_code() == 128 + SIGTERM);
}

TEST_CASE("a command that ignores SIGTERM is killed after the drain, or at a second signal", "[integration][tool]")
{
    Group const group("2");
    bool const again = GENERATE(false, true);
    CAPTURE(again);
    ToolProcess member = group.member(stubborn, {"--drain", again ? "10m" : "1s"});
    REQUIRE(eventually([&] { return numbers_after(member, "group=").size() == 2; }));
    member.process().signal(SIGTERM);
    CHECK(member.exit_code(500ms) == -1);
    CHECK(group.counts().empty());
    for (auto const command : numbers_after(member, "group="))
        CHECK(has_live_member(static_cast<pid_t>(command)));
    if (again)
        member.process().signal(SIGTERM);
    CHECK(member.exit_code(5s) == 128 + SIGKILL);
    for (auto const command : numbers_after(member, "group="))
        CHECK_FALSE(has_live_member(static_cast<pid_t>(command)));
}

TEST_CASE("a shard that is taken away ends its command alone", "[integration][tool]")
{
    Group const group("2");
    ToolProcess const member = group.member(polite);
    REQUIRE(eventually([&] { return numbers_after(member, "owns=").size() == 2; }));
    ToolProcess evict({"evict", "--pool", "orders:shard:", "--size", "2", "--slot", "1", "--yes"}, group.url);
    CHECK(evict.exit_code() == 0);
    REQUIRE(member.says("the lease on orders:shard:1 is lost"));
    REQUIRE(member.says("gone=1"));
    // it is owned again when the validity of the old lease is over
    REQUIRE(eventually([&] { return numbers_after(member, "owns=").size() == 3; }));
    CHECK(numbers_after(member, "owns=").back() == 1);
    CHECK(numbers_after(member, "gone=") == std::vector<long>{1});
}

TEST_CASE("the commands of a program that is killed end with it", "[integration][tool]")
{
    Group const group("3");
    ToolProcess member = group.member(stubborn);
    REQUIRE(eventually([&] { return numbers_after(member, "group=").size() == 3; }));
    auto const groups = numbers_after(member, "group=");
    member.process().kill();
    for (auto const command : groups)
        CHECK(eventually([&] { return !has_live_member(static_cast<pid_t>(command)); }, 2s));
}

TEST_CASE("a program whose command does not exist leaves the group, and ends as the shell would", "[integration][tool]")
{
    Group const group("4");
    ToolProcess member({"run", "--shards", "orders", "--count", "4", "--", "./no such command"}, group.url);
    CHECK(member.exit_code() == 127);
    CHECK_THAT(member.output(), ContainsSubstring("cannot run './no such command'"));
    CHECK(group.counts().empty());
}

TEST_CASE("a mistake with shards is told in the words of the options", "[integration][tool]")
{
    struct Mistake {
        std::vector<std::string> options;
        std::string words;
    };
    for (auto const& [options, words] : std::vector<Mistake>{
             {{"run", "--shards", "s"}, "--shards: say by --count N how many shards there are"},
             {{"run", "--lock", "s", "--count", "3"}, "--count is for --shards NAME"},
             {{"run", "--shards", "s", "--count", "3", "--lock", "t"}, "--lock excludes --shards"},
             {{"run", "--shards", "s", "--count", "3", "--wait", "1s"}, "--shards excludes --wait"},
             {{"run", "--lock", "s", "--drain", "1s"}, "--drain requires --shards"},
             {{"run", "--shards", "s", "--count", "3", "--ttl", "1ms"}, "--ttl is 1 ms"},
             {{"run", "--shards", "s", "--count", "3", "--weight", "3", "--max-members", "2"}, "--weight is 3"},
             {{"run", "--shards", std::string(1001, 's'), "--count", "3"}, "--shards has 1001 bytes"},
             {{"status", "--shards", "s"}, "--shards: say by --count N how many shards there are"},
         }) {
        auto arguments = options;
        if (arguments.front() == "run")
            arguments.insert(arguments.end(), {"--", "true"});
        ToolProcess tool(arguments, "redis://127.0.0.1:1");
        CHECK(tool.exit_code() == 64);
        CHECK_THAT(tool.output(), ContainsSubstring(words) && !ContainsSubstring("::"));
    }
}
