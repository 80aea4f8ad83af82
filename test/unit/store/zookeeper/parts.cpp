// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Decisions of the ZooKeeper store that need no server: when a session is proven, how keys become nodes, what nodes
// hold, and what a config may be.
#include "store/zookeeper/client/request.hpp"
#include "store/zookeeper/config.hpp"
#include "store/zookeeper/session/session_life.hpp"
#include "store/zookeeper/znodes.hpp"

#include "config/url.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace tenure::zookeeper
{

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace
{

constexpr Instant start{1h};

/** Of a session that was created at `start`. */
SessionLife created_life()
{
    SessionLife life{2s};
    life.created(start);
    return life;
}

} // namespace

TEST_CASE("a new session is proven from before it was asked for", "[zookeeper][life]")
{
    auto life = created_life();
    CHECK(life.proven() == start);
}

TEST_CASE("a write proves what was answered a whole tick before it, and not itself", "[zookeeper][life]")
{
    auto life = created_life();
    life.wrote(start + 5s, start + 5100ms);
    CHECK(life.proven() == start);
    // the first was answered less than a tick before this one was sent
    life.wrote(start + 7s, start + 7100ms);
    CHECK(life.proven() == start);
    life.wrote(start + 7100ms, start + 7200ms);
    CHECK(life.proven() == start + 5s);
    life.wrote(start + 20s, start + 30s);
    CHECK(life.proven() == start + 7s);
}

TEST_CASE("a write over a lost connection no longer proves anything", "[zookeeper][life]")
{
    auto life = created_life();
    life.wrote(start + 5s, start + 5100ms);
    life.disconnected();
    life.wrote(start + 20s, start + 20100ms);
    CHECK(life.proven() == start);
}

TEST_CASE("a connection made anew is proven by the first write that is answered on it", "[zookeeper][life]")
{
    auto life = created_life();
    life.disconnected();
    life.reopened(start + 3s);
    CHECK(life.proven() == start);
    SECTION("at once")
    {
        life.wrote(start + 3500ms, start + 3600ms);
        CHECK(life.proven() == start + 3s);
    }
    SECTION("and not by one that was lost with it")
    {
        life.disconnected();
        life.wrote(start + 4s, start + 4100ms);
        CHECK(life.proven() == start);
    }
}

TEST_CASE("validity never moves back", "[zookeeper][life]")
{
    auto life = created_life();
    life.wrote(start + 5s, start + 5100ms);
    life.wrote(start + 9s, start + 9100ms);
    REQUIRE(life.proven() == start + 5s);
    life.disconnected();
    life.reopened(start + 4s);
    life.wrote(start + 10s, start + 10100ms);
    CHECK(life.proven() == start + 5s);
}

TEST_CASE("a refusal by a busy server is no answer of the leader's", "[zookeeper][failure]")
{
    CHECK_FALSE(is_answered(ZTHROTTLEDOP));
    CHECK(is_answered(ZNONODE));
    CHECK(failure_of(Response{ZTHROTTLEDOP}, "store", "key", {}).may_take_effect());
}

TEST_CASE("a key is one node, by whatever range it is asked for", "[zookeeper][names]")
{
    auto const [range, index, path] = GENERATE(table<KeyRange, std::uint32_t, std::string>({
        {{"thread_id_lock:", 0, 16, true}, 3, "/app/thread_id_lock:/3"},
        {{"thread_id_lock:3", 0, 1, false}, 0, "/app/thread_id_lock:/3"},
        {{"worker1", 0, 16, true}, 12, "/app/worker/112"},
        {{"worker", 100, 16, true}, 12, "/app/worker/112"},
        {{"nightly", 0, 1, false}, 0, "/app/nightly/lock"},
        {{"42", 0, 1, false}, 0, "/app/%/42"},
        {{"a/b%c d", 0, 1, false}, 0, "/app/a%2Fb%25c%20d/lock"},
        {{"..", 0, 1, false}, 0, "/app/%2E./lock"},
        {{".", 0, 1, false}, 0, "/app/%2E/lock"},
        {{"zookeeper", 0, 1, false}, 0, "/app/%7Aookeeper/lock"},
        {{"\xc3\xa4", 0, 1, false}, 0, "/app/%C3%A4/lock"},
    }));
    RangeNodes const nodes("/app", "", range);
    CHECK(nodes.path(index) == path);
    CHECK(nodes.generation(index) == generation_path("/app", "", range.key(index)));
    CHECK(RangeNodes("", "ann", range).generation(index) == generation_path("", "ann", range.key(index)));
    CHECK(nodes.index_of(path.substr(path.rfind('/') + 1)) == index);
}

TEST_CASE("children that are no keys of the range are told from those that are", "[zookeeper][names]")
{
    RangeNodes const nodes("", "", {"pool1", 2, 3, true});
    CHECK(nodes.parent() == "/pool");
    for (auto const& name : {"1", "11", "15", "102", "012", "1x", "lock", "", "199999999999999999999"})
        CHECK_FALSE(nodes.index_of(name));
    CHECK(nodes.index_of("12") == 0U);
    CHECK(nodes.index_of("14") == 2U);
}

// Other programs compute the same: what is here must not change.
TEST_CASE("a node tells its key, and the node of a generation has none", "[zookeeper][names]")
{
    for (std::string const key : {"nightly", "a/b %", "zookeeper", "..", "7", "job17", "job:", "\xff\x01"}) {
        CAPTURE(key);
        RangeNodes const nodes("/app", "", *named_key(key));
        auto const begin = begin_of_keys(nodes.parent().substr(5));
        REQUIRE(begin);
        CHECK(key_of_child(*begin, nodes.path(0).substr(nodes.parent().size() + 1)) == key);
    }
    CHECK_FALSE(begin_of_keys("%g"));
    CHECK_FALSE(begin_of_keys("%g:user"));
    CHECK_FALSE(begin_of_keys("a%2"));
    CHECK_FALSE(key_of_child("job", "7x"));
}

TEST_CASE("the generation of a key follows from the key alone, and is no key's node", "[zookeeper][names]")
{
    CHECK(generation_path("", "", "nightly") == "/%g/3978");
    CHECK(generation_path("/app", "", "thread_id_lock:3") == "/app/%g/1380");
    CHECK(generation_path("/app", "worker", "42") == "/app/%g:worker/547");
    CHECK(generation_path("/app", "a/b", "a/b c%") == "/app/%g:a%2Fb/1967");
    for (auto const& key : {"%g", "%g/", "%g:worker", "%", "%g/3978"})
        CHECK_FALSE(RangeNodes("", "", {key, 0, 1, false}).parent().starts_with("/%g"));
}

TEST_CASE("a node holds its owner and the ttl, and anything else is somebody else's owner", "[zookeeper][value]")
{
    CHECK(encode("worker/0123", 10s) == "worker/0123\nttl=10000\n");
    auto const own = decode(encode("worker/0123", 10s));
    CHECK(own.owner == "worker/0123");
    CHECK(own.ttl == 10s);
    for (auto const& text :
         {"", "someone", "someone\n", "someone\nttl=", "someone\nttl=x\n", "someone\nttl=-1", "a\nb\nttl=5",
          "someone\nttl=99999999999999999999"}) {
        auto const other = decode(text);
        CHECK(other.owner == std::string(text).substr(0, std::string(text).find('\n')));
        CHECK_FALSE(other.ttl);
    }
}

namespace
{

[[nodiscard]] ZookeeperConfig good_config()
{
    ZookeeperConfig config;
    config.servers = {{"one", 2181}, {"::1", 2182}};
    config.chroot = "/app/locks";
    config.username = "worker";
    config.password = "hush";
    return config;
}

} // namespace

TEST_CASE("a ZooKeeper store says where it is, without its login", "[zookeeper][config]")
{
    CHECK_NOTHROW(check_config(good_config()));
    CHECK(describe(good_config()) == "zookeeper://one:2181,[::1]:2182/app/locks");
    auto const limits = limits_of(good_config());
    CHECK(limits.shortest == 4s);
    CHECK(limits.longest == 40s);
}

TEST_CASE("a ZooKeeper config that cannot work is refused by field, value and rule", "[zookeeper][config]")
{
    using Change = std::function<void(ZookeeperConfig&)>;
    auto const [change, field] = GENERATE(table<Change, std::string>({
        {[](ZookeeperConfig& config) { config.servers.clear(); }, "servers"},
        {[](ZookeeperConfig& config) { config.servers.resize(65, {"host"}); }, "servers"},
        {[](ZookeeperConfig& config) { config.servers[0].host = ""; }, "servers[0].host"},
        {[](ZookeeperConfig& config) { config.servers[1].host = "a,b"; }, "servers[1].host"},
        {[](ZookeeperConfig& config) { config.servers[0].port = 0; }, "servers[0].port"},
        {[](ZookeeperConfig& config) { config.chroot = "app"; }, "chroot"},
        {[](ZookeeperConfig& config) { config.chroot = "/app/"; }, "chroot"},
        {[](ZookeeperConfig& config) { config.chroot = "/a//b"; }, "chroot"},
        {[](ZookeeperConfig& config) { config.chroot = "/a/../b"; }, "chroot"},
        {[](ZookeeperConfig& config) { config.chroot = "/zookeeper/locks"; }, "chroot"},
        {[](ZookeeperConfig& config) { config.chroot = "/" + std::string(512, 'a'); }, "chroot"},
        {[](ZookeeperConfig& config) { config.username = "a:b"; }, "username"},
        {[](ZookeeperConfig& config) { config.username = ""; }, "username"},
        {[](ZookeeperConfig& config) { config.password = ""; }, "password"},
        {[](ZookeeperConfig& config) { config.tick = 5ms; }, "tick"},
        {[](ZookeeperConfig& config) { config.tick = 61s; }, "tick"},
        {[](ZookeeperConfig& config) { config.shortest_ttl = 50ms; }, "shortest_ttl"},
        {[](ZookeeperConfig& config) { config.shortest_ttl = 2s; }, "shortest_ttl"},
        {[](ZookeeperConfig& config) { config.longest_ttl = 25h; }, "longest_ttl"},
        {[](ZookeeperConfig& config) { config.longest_ttl = 3s; }, "longest_ttl"},
        {[](ZookeeperConfig& config) { config.connect_timeout = 10ms; }, "connect_timeout"},
        {[](ZookeeperConfig& config) { config.jute_maxbuffer = 65'535; }, "jute_maxbuffer"},
        {[](ZookeeperConfig& config) { config.jute_maxbuffer = 1'073'741'825; }, "jute_maxbuffer"},
    }));
    auto config = good_config();
    change(config);
    CHECK_THROWS_MATCHES(
        check_config(config), std::invalid_argument,
        MessageMatches(ContainsSubstring("ZookeeperConfig::" + field + " = ") && !ContainsSubstring("hush")));
}

TEST_CASE("zookeeper URLs become a configuration with every server they name", "[zookeeper][url]")
{
    auto const config = zookeeper::config_from(
        parse_url("zookeeper://worker:p%40ss@one,[::1]:2182/app/"
                  "locks?tick=3s&shortest_ttl=5s&longest_ttl=50s&connect_timeout=300ms&jute_maxbuffer=4194304"));
    REQUIRE(config.servers.size() == 2);
    CHECK(config.servers[0].host == "one");
    CHECK(config.servers[0].port == 2181);
    CHECK(config.servers[1].host == "::1");
    CHECK(config.servers[1].port == 2182);
    CHECK(config.chroot == "/app/locks");
    CHECK(config.username == "worker");
    CHECK(config.password == "p@ss");
    CHECK(config.tick == 3s);
    CHECK(config.shortest_ttl == 5s);
    CHECK(config.longest_ttl == 50s);
    CHECK(config.connect_timeout == 300ms);
    CHECK(config.jute_maxbuffer == 4'194'304);
    CHECK(zookeeper::config_from(parse_url("zookeeper://one/")).chroot.empty());
}

TEST_CASE("zookeeper URLs that say too much or too little are refused, without the password", "[zookeeper][url]")
{
    auto const [text, part] = GENERATE(table<std::string, std::string>({
        {"zookeeper:///app", "hosts"},
        {"zookeeper://hush@one", "user"},
        {"zookeeper://user:hush@one?replicas=1", "option"},
        {"zookeeper://user:hush@one?tick=soon", "option tick"},
        {"zookeeper://user:hush@one?jute_maxbuffer=1M", "option jute_maxbuffer"},
        {"zookeeper://user:hush@one/app/", "chroot"},
    }));
    CAPTURE(text);
    CHECK_THROWS_MATCHES(
        check_config(zookeeper::config_from(parse_url(text))), std::invalid_argument,
        MessageMatches(ContainsSubstring(part) && !ContainsSubstring("hush")));
}

} // namespace tenure::zookeeper
