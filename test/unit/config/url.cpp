// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "config/url.hpp"
#include "harness/paths.hpp"
#include "store/etcd/config.hpp"
#include "store/file/backend.hpp"
#include "store/redis/config/config.hpp"

#include <tenure/open_store.hpp>

#include <boost/asio/io_context.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstddef>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace
{

std::string error_of(std::string const& text)
{
    boost::asio::io_context context;
    try {
        static_cast<void>(tenure::open_store(context, text));
    } catch (std::invalid_argument const& error) {
        return error.what();
    }
    return {};
}

/** The texts of a line of Markdown that stand in backticks. */
std::vector<std::string> code_spans(std::string const& text)
{
    static std::regex const span("`([^`]+)`");
    return {std::sregex_token_iterator(text.begin(), text.end(), span, 1), {}};
}

/** The cells of a row of a Markdown table. */
std::vector<std::string> cells_of(std::string const& row)
{
    std::vector<std::string> cells;
    std::istringstream rest(row.substr(1));
    for (std::string cell; std::getline(rest, cell, '|');)
        cells.push_back(cell);
    return cells;
}

} // namespace

TEST_CASE("a URL with everything is taken apart and decoded", "[url]")
{
    auto const url =
        tenure::parse_url("rediss://us%40er:p%2Fa%3Ass@redis.example:6380/2?connect_timeout=1s&tls_ca=/a%26b");
    CHECK(url.scheme == "rediss");
    CHECK(url.user == "us@er");
    CHECK(url.password == "p/a:ss");
    REQUIRE(url.hosts.size() == 1);
    CHECK(url.hosts[0] == tenure::Endpoint{"redis.example", 6380});
    CHECK(url.path == "/2");
    CHECK(url.options.at("connect_timeout") == "1s");
    CHECK(url.options.at("tls_ca") == "/a&b");
}

TEST_CASE("several hosts and IPv6 addresses are understood", "[url]")
{
    auto const url =
        tenure::parse_url("REDIS+Sentinel://a:1,[::1]:26379,[fe80::1%eth0],[fe80::1%25eth0]:7,c/the-master");
    CHECK(url.scheme == "redis+sentinel");
    REQUIRE(url.hosts.size() == 5);
    CHECK(url.hosts[0] == tenure::Endpoint{"a", 1});
    CHECK(url.hosts[1] == tenure::Endpoint{"::1", 26379});
    CHECK(url.hosts[2] == tenure::Endpoint{"fe80::1%eth0", 0});
    // as RFC 6874 writes it
    CHECK(url.hosts[3] == tenure::Endpoint{"fe80::1%eth0", 7});
    CHECK(url.hosts[4] == tenure::Endpoint{"c", 0});
    CHECK(url.path == "/the-master");
}

TEST_CASE("a password without user, and an empty authority, are allowed", "[url]")
{
    auto const url = tenure::parse_url("redis://:secret@host");
    CHECK_FALSE(url.user);
    CHECK(url.password == "secret");
    CHECK(tenure::parse_url("memory://").hosts.empty());
    CHECK(tenure::parse_url("memory://jobs").hosts.at(0).host == "jobs");
    CHECK(tenure::parse_url("redis+unix:///run/redis.sock?db=3").path == "/run/redis.sock");
}

TEST_CASE("a malformed URL is refused with field and rule", "[url]")
{
    auto const [text, field] = GENERATE(table<std::string, std::string>({
        {"", "scheme"},
        {"host:6379", "scheme"},
        {"://host", "scheme"},
        {"1redis://host", "scheme"},
        {"re dis://host", "characters"},
        {"redis://host\n", "characters"},
        {"redis://ho\x01st", "characters"},
        {"redis://host:0", "port '0'"},
        {"redis://host:65536", "port '65536'"},
        {"redis://host:", "port ''"},
        {"redis://host:12a", "port: must be"},
        {"redis://:p@host:12a", "port '12a'"},
        {"redis://:p@host:-1", "port '-1'"},
        {"redis://[::1", "host"},
        {"redis://[::1]6379", "port"},
        {"redis://[localhost]", "host"},
        {"redis://[:]", "host"},
        {"redis://::1", "host"},
        {"redis://a,,b", "host"},
        {"redis://a,", "host"},
        {"redis://,a", "host"},
        {"redis://h%20st", "host"},
        {"redis://host/%zz", "path"},
        {"redis://host/%4", "path"},
        {"redis://host/%00", "path"},
        {"redis://host?a", "option"},
        {"redis://host?=1", "option"},
        {"redis://host?a=1&a=2", "option 'a'"},
        {"redis://host#1", "fragment"},
        {"redis://" + std::string(300, 'h'), "host"},
        {"redis://host/" + std::string(9000, '1'), "length"},
    }));
    CAPTURE(text);
    CHECK_THROWS_MATCHES(
        tenure::parse_url(text), std::invalid_argument, MessageMatches(ContainsSubstring("store URL: " + field)));
}

TEST_CASE("no error shows any part of a password", "[url]")
{
    auto const text = GENERATE(
        as<std::string>{}, "redis://user:hush/hush@host", "redis://user:hush?hush@host", "redis://user:hush#hush@host",
        "redis://user:hush@hush@host", "redis://user:hush%@host", "redis://user:hush%0@host",
        "redis://user:hush%00@host", "redis://user:hush@host:99999", "redis://user:hush@ho!st",
        "redis://user:hush@host/x", "redis://user:hush@host?unknown=1", "redis://:hush@", "etcd://user:hush@host/x",
        "redis://hush@host", "redis://user:hush,hush:0@host,host", "redis://user:hush@host#x", "user:hush@host",
        "redis://user:hush", "redis://user:hush%40host", "redis://user:hush%40host:6379", "redis://user:123hush",
        "redis+sentinel://host/name?sentinel_password=x&hush", "redis+sentinel://host/name?sentinel_password=x&hush=",
        "redis+sentinel://host/name?sentinel_password=hush&sentinel_password=hush",
        "redis+sentinel://host/name?sentinel_password=%hush", "redis+sentinel://user:hush@host");
    CAPTURE(text);
    auto const message = error_of(text);
    CHECK(message.starts_with("store URL: "));
    CHECK(message.find("hush") == std::string::npos);
}

TEST_CASE("an unknown scheme is refused with a list of those that exist, and each page names them all", "[url]")
{
    auto const message = error_of("http://host");
    CHECK_THAT(message, ContainsSubstring("scheme 'http': must be one of memory://, file://, redis://, rediss://, "));
    std::regex const scheme(R"([a-z+]+://)");
    std::set<std::string> const schemes{std::sregex_token_iterator(message.begin(), message.end(), scheme), {}};
    CHECK(schemes.size() == 16);
    for (auto const* const page :
         {"include/tenure/open_store.hpp", "docs/users/choosing-a-store.md", "docs/users/tool.md"}) {
        std::ostringstream text;
        text << std::ifstream(tenure::test::source_path(page)).rdbuf();
        for (auto const& name : schemes) {
            CAPTURE(page, name);
            CHECK_THAT(text.str(), ContainsSubstring("`" + name));
        }
    }
}

TEST_CASE("the table of URL options has for each store the options that the code takes", "[url]")
{
    std::ifstream page(tenure::test::source_path("docs/users/choosing-a-store.md"));
    std::string line;
    while (std::getline(page, line) && !line.starts_with("| option | meaning | default |")) {
    }
    auto const header = cells_of(line);
    std::map<std::string, std::set<std::string>> documented;
    while (std::getline(page, line) && line.starts_with('|')) {
        auto const cells = cells_of(line);
        for (std::size_t column = 3; column < cells.size(); ++column)
            if (cells[column].find("yes") != std::string::npos)
                for (auto const& option : code_spans(cells[0]))
                    documented[code_spans(header.at(column)).at(0)].insert(option);
    }
    CHECK(documented.size() == 9);
    for (auto const& [scheme, options] : documented) {
        auto const* const rest = scheme == "redis+unix://"       ? "/socket"
                                 : scheme == "file://"           ? "/directory"
                                 : scheme == "redis+sentinel://" ? "host/name"
                                 : scheme == "redlock://"        ? "a,b,c"
                                                                 : "host";
        auto const message = error_of(scheme + rest + "?no_option_has_this_name=1");
        std::string const list = "must be one of ";
        REQUIRE_THAT(message, ContainsSubstring(list));
        std::regex const name("[a-z_]+");
        auto const begin = message.begin() + static_cast<std::ptrdiff_t>(message.find(list) + list.size());
        CAPTURE(message);
        CHECK(options == std::set<std::string>{std::sregex_token_iterator(begin, message.end(), name), {}});
    }
}

TEST_CASE("file URLs become a configuration, with and without slashes", "[url]")
{
    auto const directory = [](std::string const& text) {
        return tenure::file::config_from(tenure::parse_url(text)).directory;
    };
    CHECK(directory("file:///run/app%20locks") == "/run/app locks");
    CHECK(directory("file:/run/app") == "/run/app");
    CHECK(directory("file://").empty());
    CHECK(directory("file:").empty());
    CHECK(tenure::file::config_from(tenure::parse_url("file:/a?any_filesystem=true")).any_filesystem);
    CHECK_THAT(error_of("file://run/locks"), ContainsSubstring("must begin after a third '/'"));
    CHECK_THAT(error_of("file:locks"), ContainsSubstring("must begin after a third '/'"));
    CHECK_THAT(
        error_of("file:///" + std::string(3100, 'a')), ContainsSubstring("must be an absolute path of at most 3072"));
}

TEST_CASE("etcd URLs become a configuration with every member they name", "[url]")
{
    auto const config = tenure::etcd::config_from(
        tenure::parse_url("etcds://worker:secret@a,b:1,[::1]?tls_ca=ca.pem&connections=7&connect_timeout=1s"));
    REQUIRE(config.endpoints.size() == 3);
    CHECK(config.endpoints[0].host == "a");
    CHECK(config.endpoints[0].port == 2379);
    CHECK(config.endpoints[1].port == 1);
    CHECK(config.endpoints[2].host == "::1");
    CHECK(config.username == "worker");
    CHECK(config.password == "secret");
    CHECK(config.tls.enabled);
    CHECK(config.tls.ca_file == "ca.pem");
    CHECK(config.connections == 7);
    CHECK(config.connect_timeout == std::chrono::seconds{1});
}

TEST_CASE("cluster URLs become a configuration with every node they name", "[url]")
{
    auto const config = tenure::redis::cluster_config_from(
        tenure::parse_url("rediss+cluster://user:secret@one:7001,[::1],three/?tls_ca=/ca.pem&connect_timeout=300ms"));
    REQUIRE(config.seeds.size() == 3);
    CHECK(config.seeds[0].host == "one");
    CHECK(config.seeds[0].port == 7001);
    CHECK(config.seeds[1].host == "::1");
    CHECK(config.seeds[1].port == 6379);
    CHECK(config.seeds[2].host == "three");
    CHECK(config.username == "user");
    CHECK(config.password == "secret");
    CHECK(config.tls.enabled);
    CHECK(config.tls.ca_file == "/ca.pem");
    CHECK(config.connect_timeout == 300ms);

    CHECK_FALSE(tenure::redis::cluster_config_from(tenure::parse_url("redis+cluster://host")).tls.enabled);
    for (std::string const url :
         {"redis+cluster://", "redis+cluster://host/1", "redis+cluster://host?db=1", "redis+cluster://host?tls_ca=/ca",
          "redis+cluster://user@host", "redis+cluster://host?connect_timeout=1ms"})
        CHECK_FALSE(error_of(url).empty());
}

TEST_CASE("redlock URLs become a configuration of servers that differ by address only", "[url]")
{
    auto const config = tenure::redis::redlock_config_from(
        tenure::parse_url("redlocks://user:secret@a,b:1234,[::1]:5/7?tls_ca=/ca.pem&connect_timeout=1s"));
    REQUIRE(config.servers.size() == 3);
    CHECK(config.servers[0].host == "a");
    CHECK(config.servers[0].port == 6379);
    CHECK(config.servers[1].port == 1234);
    CHECK(config.servers[2].host == "::1");
    for (auto const& server : config.servers) {
        CHECK(server.username == "user");
        CHECK(server.password == "secret");
        CHECK(server.database == 7);
        CHECK(server.tls.enabled);
        CHECK(server.tls.ca_file == "/ca.pem");
        CHECK(server.connect_timeout == 1s);
        CHECK(server.reconnect_backoff == 300ms);
    }
    auto const patient = tenure::redis::redlock_config_from(tenure::parse_url("redlock://a,b,c?reconnect_backoff=5s"));
    CHECK(patient.servers.at(2).reconnect_backoff == 5s);
    CHECK_FALSE(patient.servers[2].tls.enabled);
}

TEST_CASE("redis URLs become a configuration", "[url]")
{
    auto const config =
        tenure::redis::config_from(tenure::parse_url("rediss://user:secret@host:1234/7?tls_ca=/ca.pem&tls_cert=/"
                                                     "c.pem&tls_key=/k.pem&tls_server_name=name&tls_verify=false"
                                                     "&connect_timeout=300ms&reconnect_backoff=1s"));
    CHECK(config.host == "host");
    CHECK(config.port == 1234);
    CHECK(config.username == "user");
    CHECK(config.password == "secret");
    CHECK(config.database == 7);
    CHECK(config.tls.enabled);
    CHECK(config.tls.ca_file == "/ca.pem");
    CHECK(config.tls.certificate_file == "/c.pem");
    CHECK(config.tls.key_file == "/k.pem");
    CHECK(config.tls.server_name == "name");
    CHECK_FALSE(config.tls.verify);
    CHECK(config.connect_timeout == 300ms);
    CHECK(config.reconnect_backoff == 1s);

    auto const plain = tenure::redis::config_from(tenure::parse_url("redis://host"));
    CHECK(plain.port == 6379);
    CHECK(plain.database == 0);
    CHECK_FALSE(plain.tls.enabled);
    CHECK(plain.tls.verify);

    auto const local = tenure::redis::config_from(tenure::parse_url("redis+unix://:pw@/run/my%20redis.sock?db=3"));
    CHECK(local.socket_path == "/run/my redis.sock");
    CHECK(local.database == 3);
    CHECK(local.password == "pw");
}

TEST_CASE("a redis URL with a wrong part is refused with that part and the rule", "[url]")
{
    auto const [text, words] = GENERATE(table<std::string, std::string>({
        {"redis://a,b", "hosts: must be exactly one"},
        {"redis://", "hosts: must be exactly one"},
        {"redis://host/zero", "path 'zero'"},
        {"redis://host/-1", "path '-1'"},
        {"redis://host/1/2", "path '1/2'"},
        {"redis://host?colour=red", "option 'colour'"},
        {"redis://host?tls_ca=x", "option tls_ca 'x': needs rediss://"},
        {"rediss://host?tls_colour=x", "option 'tls_colour'"},
        {"rediss://host?tls_verify=1", "option tls_verify '1'"},
        {"rediss://host?tls_cert=x", "tls.key_file"},
        {"redis://host?db=1", "option db '1'"},
        {"redis://host?connect_timeout=5", "option connect_timeout '5'"},
        {"redis://host?connect_timeout=99999999999999999999s", "option connect_timeout"},
        {"redis://host?connect_timeout=50ms", "connect_timeout = '50ms'"},
        {"redis://host?reconnect_backoff=2h", "reconnect_backoff = '2h': must be from 10ms to 1h"},
        {"redis://user@host", "password: must follow the user"},
        {"redis+unix://host/run/redis.sock", "host 'host'"},
        {"redis+unix:///", "path"},
        {"redis+unix:///" + std::string(200, 'x'), "socket_path"},
        {"redis+unix:///socket?tls_ca=x", "option 'tls_ca': must be one of"},
        {"redis+unix:///socket?db=one", "option db 'one'"},
        {"redlock://a,b,c?tls_ca=x", "option tls_ca 'x': needs redlocks://"},
        {"redlock://a,b,c?db=1", "write the database as path: redlock://host/1"},
        {"redlock://a,b,a", "servers = 'a:6379': must be different servers"},
    }));
    CAPTURE(text);
    CHECK_THAT(error_of(text), ContainsSubstring(words));
}

TEST_CASE("sentinel URLs become a configuration", "[url]")
{
    auto const config = tenure::redis::sentinel_config_from(tenure::parse_url(
        "redis+sentinel://user:secret@a,b:1234,[::1]:5/my-master/7?sentinel_user=lookout&sentinel_password=w%26tch"
        "&connect_timeout=300ms&reconnect_backoff=1s"));
    REQUIRE(config.sentinels.size() == 3);
    CHECK(config.sentinels[0].host == "a");
    CHECK(config.sentinels[0].port == 26379);
    CHECK(config.sentinels[1].port == 1234);
    CHECK(config.sentinels[2].host == "::1");
    CHECK(config.master_name == "my-master");
    CHECK(config.database == 7);
    CHECK(config.username == "user");
    CHECK(config.password == "secret");
    CHECK(config.sentinel_username == "lookout");
    CHECK(config.sentinel_password == "w&tch");
    CHECK_FALSE(config.tls.enabled);
    CHECK_FALSE(config.sentinel_tls.enabled);
    CHECK(config.connect_timeout == 300ms);
    CHECK(config.reconnect_backoff == 1s);

    auto const plain = tenure::redis::sentinel_config_from(tenure::parse_url("redis+sentinel://:pw@host/name/"));
    CHECK(plain.master_name == "name");
    CHECK(plain.database == 0);
    CHECK(plain.password == "pw");
    // never taken from the servers'
    CHECK(plain.sentinel_password.empty());
}

TEST_CASE("delay after a failover is off unless a URL asks for it", "[url]")
{
    CHECK_FALSE(tenure::redis::config_from(tenure::parse_url("redis://host")).delay_after_failover);
    for (auto const* const url : {"redis://host", "rediss://host"}) {
        CAPTURE(url);
        auto const text = std::string(url);
        CHECK(tenure::redis::config_from(tenure::parse_url(text + "?delay_after_failover=true")).delay_after_failover);
        CHECK_FALSE(
            tenure::redis::config_from(tenure::parse_url(text + "?delay_after_failover=false")).delay_after_failover);
    }
    CHECK(tenure::redis::config_from(tenure::parse_url("redis+unix:///socket?delay_after_failover=true"))
              .delay_after_failover);
    CHECK(tenure::redis::sentinel_config_from(tenure::parse_url("redis+sentinel://host/name?delay_after_failover=true"))
              .delay_after_failover);
    CHECK(tenure::redis::cluster_config_from(tenure::parse_url("redis+cluster://host?delay_after_failover=true"))
              .delay_after_failover);
}

TEST_CASE("locks have the layout of this library unless a URL asks for Redisson's", "[url]")
{
    using tenure::LockLayout;
    CHECK(tenure::redis::config_from(tenure::parse_url("redis://host")).lock_layout == LockLayout::tenure);
    CHECK(
        tenure::redis::config_from(tenure::parse_url("redis://host?lock_layout=tenure")).lock_layout ==
        LockLayout::tenure);
    for (auto const* const url : {"rediss://host?lock_layout=redisson", "redis+unix:///socket?lock_layout=redisson"})
        CHECK(tenure::redis::config_from(tenure::parse_url(url)).lock_layout == LockLayout::redisson);
    CHECK(
        tenure::redis::sentinel_config_from(tenure::parse_url("redis+sentinel://host/name?lock_layout=redisson"))
            .lock_layout == LockLayout::redisson);
    CHECK(
        tenure::redis::cluster_config_from(tenure::parse_url("redis+cluster://host?lock_layout=redisson"))
            .lock_layout == LockLayout::redisson);
    auto both = tenure::redis::cluster_config_from(
        tenure::parse_url("redis+cluster://host?lock_layout=redisson&delay_after_failover=true"));
    CHECK_THROWS_AS(tenure::redis::check_config(both), std::invalid_argument);
}

TEST_CASE("TLS of sentinels is that of the servers where nothing else is said", "[url]")
{
    auto const of = [](std::string const& text) {
        return tenure::redis::sentinel_config_from(tenure::parse_url(text));
    };
    auto const both = of("rediss+sentinel://host/name?tls_ca=/ca.pem&tls_verify=false");
    CHECK(both.tls.enabled);
    CHECK(both.sentinel_tls.enabled);
    CHECK(both.sentinel_tls.ca_file == "/ca.pem");
    CHECK_FALSE(both.sentinel_tls.verify);
    auto const two = of("rediss+sentinel://host/name?tls_ca=/ca.pem&sentinel_tls_ca=/other.pem&sentinel_tls_verify=true"
                        "&tls_verify=false");
    CHECK(two.tls.ca_file == "/ca.pem");
    CHECK(two.sentinel_tls.ca_file == "/other.pem");
    CHECK(two.sentinel_tls.verify);
    auto const servers = of("rediss+sentinel://host/name?tls_ca=/ca.pem&sentinel_tls=false");
    CHECK(servers.tls.enabled);
    CHECK_FALSE(servers.sentinel_tls.enabled);
    auto const sentinels = of("redis+sentinel://host/name?sentinel_tls=true&sentinel_tls_ca=/ca.pem");
    CHECK_FALSE(sentinels.tls.enabled);
    CHECK(sentinels.sentinel_tls.enabled);
    CHECK(sentinels.sentinel_tls.ca_file == "/ca.pem");
}

TEST_CASE("a sentinel URL with a wrong part is refused with that part and the rule", "[url]")
{
    auto const [text, words] = GENERATE(table<std::string, std::string>({
        {"redis+sentinel://host", "path ''"},
        {"redis+sentinel://host/", "path '/'"},
        {"redis+sentinel:///name", "hosts: must be one or more sentinels"},
        {"redis+sentinel://host/name/zero", "path 'zero'"},
        {"redis+sentinel://host/name/1/2", "path '1/2'"},
        {"redis+sentinel://host/na%20me", "master_name = 'na?me'"},
        {"redis+sentinel://user@host/name", "password: must follow the user"},
        {"redis+sentinel://host/name?db=1", "option 'db'"},
        {"redis+sentinel://host/name?sentinel_colour=x", "option 'sentinel_colour'"},
        {"redis+sentinel://host/name?sentinel_tls=1", "option sentinel_tls '1'"},
        {"redis+sentinel://host/name?sentinel_tls_ca=x", "option sentinel_tls_ca 'x': needs"},
        {"rediss+sentinel://host/name?sentinel_tls_colour=x", "option 'sentinel_tls_colour'"},
        {"redis+sentinel://host/name?sentinel_user=x", "sentinel_password"},
        {"redis+sentinel://host/name?connect_timeout=1ms", "connect_timeout = '1ms'"},
        {"rediss+sentinel://host/name?sentinel_tls=false&sentinel_tls_ca=x", "option sentinel_tls_ca 'x': needs"},
    }));
    CAPTURE(text);
    CHECK_THAT(error_of(text), ContainsSubstring(words));
}

TEST_CASE("durations need a unit, and are written with the largest that fits", "[url]")
{
    CHECK(tenure::parse_duration("500ms") == 500ms);
    CHECK(tenure::parse_duration("5s") == 5s);
    CHECK(tenure::parse_duration("2m") == 2min);
    CHECK(tenure::parse_duration("24h") == 24h);
    CHECK(tenure::duration_text(0ms) == "0ms");
    CHECK(tenure::duration_text(-1s) == "-1s");
    for (auto const* text : {"1500ms", "5s", "90s", "2m", "24h"})
        CHECK(tenure::duration_text(tenure::parse_duration(text).value()) == text);
    for (auto const* text :
         {"", "5", "s", "-5s", "5 s", "5sec", "1.5s", "9223372036854775807h", "99999999999999999999ms"})
        CHECK_FALSE(tenure::parse_duration(text));
}
