// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Messages to a user whose sentinels refuse, are unavailable, or do not know the master; and with logins and TLS.
#include "system/support/certificate_authority.hpp"

#include "harness/documented.hpp"
#include "harness/eventually.hpp"
#include "harness/sentinel_group.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <string>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

/** A group that is quick to start: what refuses here are its sentinels. */
SentinelGroupOptions one_of_each()
{
    SentinelGroupOptions options;
    options.replicas = 0;
    options.sentinels = 1;
    return options;
}

/** An acquisition of "wanted" fails with that error; returns what it says, which is documented and without secrets. */
std::string fails(std::string const& url, errc expected, std::chrono::milliseconds wait)
{
    RunningStore running{url};
    auto const begin = std::chrono::steady_clock::now();
    auto const error = RunningStore::acquire_error(running.lock("wanted", 5s), {.wait = wait});
    auto const text = running.store().diagnostics().last_detail;
    INFO(text);
    CHECK(error == expected);
    if (error == condition::misconfigured)
        CHECK(std::chrono::steady_clock::now() - begin < wait / 2);
    CHECK(documented(error.message()));
    CHECK(documented(text));
    for (auto const& shown : {text, running.log(), running.store().describe()})
        CHECK(shown.find("very-secret") == std::string::npos);
    return text;
}

/** Sentinels that also listen with TLS. */
SentinelGroupOptions with_tls(Authority const& authority)
{
    auto options = one_of_each();
    options.sentinel_tls = true;
    options.tls_ca = authority.ca();
    options.tls_certificate = authority.certificate("good");
    options.tls_key = authority.key("good");
    return options;
}

} // namespace

TEST_CASE("a name unknown to the sentinels is reported, and the acquisition waits for it", "[sentinel]")
{
    require_redis();
    SentinelGroup group{one_of_each()};
    auto const where = "127.0.0.1:" + std::to_string(group.sentinel(0).port());
    CHECK_THAT(
        fails("redis+sentinel://" + where + "/othermaster", errc::store_refused, 800ms),
        ContainsSubstring("'othermaster'") && ContainsSubstring(where));

    // a sentinel that is told later
    RunningStore running{"redis+sentinel://" + where + "/othermaster"};
    auto acquired = running.lock("wanted", 5s).async_acquire({.wait = 20s}, as_future);
    REQUIRE(eventually([&] { return running.log().find("no sentinel knows") != std::string::npos; }));
    group.sentinel(0).client().call("SENTINEL", "MONITOR", "othermaster", "127.0.0.1", group.server(0).port(), 1);
    auto [error, lease] = soon(std::move(acquired));
    CHECK_FALSE(error);
}

TEST_CASE("unavailable sentinels, and servers that are not sentinels, are reported", "[sentinel]")
{
    require_redis();
    fails("redis+sentinel://127.0.0.1:1,127.0.0.1:2/mymaster", errc::store_unavailable, 800ms);
    RedisServer const server;
    auto const text =
        fails("redis+sentinel://127.0.0.1:" + std::to_string(server.port()) + "/mymaster", errc::wrong_server, 15s);
    CHECK_THAT(text, ContainsSubstring("is no sentinel"));
}

TEST_CASE("sentinels have a password of their own", "[sentinel]")
{
    require_redis();
    auto options = one_of_each();
    options.sentinel_password = "right";
    options.sentinel_config = {"requirepass right", "sentinel sentinel-pass right"};
    SentinelGroup group{options};
    fails(group.url(), errc::authentication_failed, 15s);
    fails(group.url() + "?sentinel_password=very-secret", errc::authentication_failed, 15s);
    RunningStore running{group.url() + "?sentinel_password=right"};
    CHECK(RunningStore::acquire_error(running.lock("wanted", 5s)) == error_code{});
    CHECK(running.log().find("right") == std::string::npos);
}

TEST_CASE("users of sentinels and of servers differ, and the documented permissions are enough", "[sentinel]")
{
    require_redis();
    auto options = one_of_each();
    options.sentinel_config = {
        "user lookout on >watch resetchannels -@all +sentinel|myid +sentinel|get-master-addr-by-name +sentinel|master "
        "+sentinel|sentinels +subscribe &+switch-master",
        "user deaf on >watch resetchannels -@all +sentinel|myid +sentinel|get-master-addr-by-name +sentinel|master "
        "+sentinel|sentinels",
        "user blind on >very-secret resetchannels -@all +ping"};
    options.server_config = {"user worker on >work ~* &* +@all"};
    SentinelGroup group{options};
    auto const host = "127.0.0.1:" + std::to_string(group.sentinel(0).port());
    auto const url = [&](std::string const& user, std::string const& password) {
        return "redis+sentinel://worker:work@" + host + "/mymaster/2?sentinel_user=" + user +
               "&sentinel_password=" + password;
    };
    {
        RunningStore running{url("lookout", "watch")};
        auto const lease = RunningStore::acquire(running.lock("wanted", 5s));
        auto client = group.server(0).client();
        client.call("SELECT", 2);
        CHECK(client.get("wanted") == lease.owner());
        auto sentinel = group.sentinel(0).client();
        CHECK(eventually([&] { return !sentinel.call("CLIENT", "LIST", "TYPE", "pubsub").text.empty(); }));
        CHECK(sentinel.call("ACL", "LOG").elements.empty());
    }
    RunningStore deaf{url("deaf", "watch")};
    CHECK(RunningStore::acquire_error(deaf.lock("wanted", 5s)) == error_code{});
    CHECK(eventually([&] { return deaf.log().find("+subscribe and &+switch-master") != std::string::npos; }));
    fails(url("blind", "very-secret"), errc::permission_denied, 15s);
}

TEST_CASE("sentinels with TLS, servers without", "[sentinel]")
{
    require_redis();
    Authority const authority;
    authority.issue("good", here);
    SentinelGroup group{with_tls(authority)};
    auto const at = "redis+sentinel://127.0.0.1:" + std::to_string(group.sentinel(0).tls_port()) +
                    "/mymaster?sentinel_tls=true&sentinel_tls_ca=";
    RunningStore running{at + authority.ca()};
    CHECK(RunningStore::acquire_error(running.lock("wanted", 5s)) == error_code{});

    Authority const stranger;
    auto const text = fails(at + stranger.ca(), errc::tls_failed, 15s);
    CHECK_THAT(text, ContainsSubstring("certificate"));
}

TEST_CASE("servers and sentinels with TLS", "[sentinel]")
{
    require_redis();
    Authority const authority;
    authority.issue("good", here);
    SentinelGroup group{with_tls(authority)};
    // a second name for a server that is reached by TLS
    RedisServer const secure(tls_options(authority, "good"));
    group.sentinel(0).client().call("SENTINEL", "MONITOR", "secure", "127.0.0.1", secure.tls_port(), 1);
    RunningStore running{
        "rediss+sentinel://127.0.0.1:" + std::to_string(group.sentinel(0).tls_port()) +
        "/secure?tls_ca=" + authority.ca()};
    auto const lease = RunningStore::acquire(running.lock("wanted", 5s), {.wait = 400ms});
    CHECK(secure.client().get("wanted") == lease.owner());
}

TEST_CASE("a server that is named as master but is not one is not used, and reported", "[sentinel]")
{
    require_redis();
    auto options = one_of_each();
    options.sentinel_config = {};
    SentinelGroup group{options};
    // the sentinel sees its role only at its next INFO
    group.server(0).client().call("REPLICAOF", "127.0.0.1", "1");
    group.server(0).client().call("CONFIG", "RESETSTAT");
    auto const text = fails(group.url(), errc::store_refused, 800ms);
    CHECK_THAT(text, ContainsSubstring("127.0.0.1:" + std::to_string(group.server(0).port())));
    CHECK(group.server(0).client().info("cmdstat_evalsha").empty());
    CHECK(group.server(0).client().info("cmdstat_eval").empty());
}
