// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Errors for a user of TLS when a certificate is invalid, at the first connect or only at a later one.
#include "system/support/certificate_authority.hpp"

#include "harness/documented.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "system/support/running_store.hpp"
#include "system/support/scripted_server.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <string>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

std::string url_of(RedisServer const& server, Authority const& authority, std::string const& host = "127.0.0.1")
{
    return "rediss://:very-secret@" + host + ":" + std::to_string(server.tls_port()) + "?tls_ca=" + authority.ca();
}

struct BadCertificate {
    std::string what;
    std::string names;
    std::string host;
    int days;
    bool self_signed;
};

} // namespace

TEST_CASE("an invalid certificate is reported with its reason, and no login is sent", "[integration]")
{
    require_redis();
    auto const bad = GENERATE(values<BadCertificate>({
        {"for another address", "DNS:elsewhere.example,IP:127.0.0.2", "127.0.0.1", 2, false},
        {"for another name", "DNS:elsewhere.example,IP:127.0.0.1", "localhost", 2, false},
        {"self-signed", here, "127.0.0.1", 2, true},
        {"expired", here, "127.0.0.1", -1, false},
    }));
    CAPTURE(bad.what);
    Authority const authority;
    if (bad.self_signed)
        authority.self_sign("bad", bad.names);
    else
        authority.issue("bad", bad.names, bad.days);
    RedisServer const server(tls_options(authority, "bad"));
    RunningStore running{url_of(server, authority, bad.host)};
    auto const begin = std::chrono::steady_clock::now();
    auto const error = RunningStore::acquire_error(running.lock("wanted", 5s), {.wait = 20s});
    CHECK(error == errc::tls_failed);
    CHECK(error == condition::misconfigured);
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK(documented(error.message()));
    CHECK(documented(running.store().diagnostics().last_detail));
    CHECK(server.client().info("cmdstat_hello").empty());
    CHECK(running.log().find("very-secret") == std::string::npos);
}

TEST_CASE(
    "a certificate that goes bad under a lease costs the lease in time, and comes back with a good one",
    "[integration]")
{
    require_redis();
    Authority const authority;
    authority.issue("good", here);
    authority.issue("bad", "DNS:elsewhere.example");
    auto options = tls_options(authority, "good");
    options.config.emplace_back("requirepass very-secret");
    RedisServer const server(options);
    auto admin = server.client();
    admin.call("AUTH", "very-secret");
    RunningStore running{url_of(server, authority)};
    auto lease = RunningStore::acquire(running.lock("held", 1500ms));
    FiredAt fired{lease.token()};

    auto const use = [&](std::string const& name) {
        admin.call("CONFIG", "SET", "tls-cert-file", authority.certificate(name), "tls-key-file", authority.key(name));
    };
    use("bad");
    admin.call("CONFIG", "RESETSTAT");
    admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    auto const at = fired.wait(10s);
    REQUIRE(at);
    CHECK(*at < nanoseconds(lease.valid_until()));
    CHECK(lease.token().reason() == CancelReason::expired);
    CHECK(RunningStore::acquire_error(running.lock("wanted", 5s), {.wait = 5s}) == errc::tls_failed);
    CHECK_THAT(running.store().diagnostics().last_detail, ContainsSubstring("mismatch"));
    // nothing was said on a connection that could not be trusted
    CHECK(admin.info("cmdstat_hello").empty());
    CHECK(admin.info("cmdstat_evalsha").empty());

    use("good");
    CHECK(eventually([&] { return RunningStore::acquire_error(running.lock("wanted", 5s)) == error_code{}; }));
    CHECK(running.log().find("very-secret") == std::string::npos);
}

TEST_CASE(
    "a server that does not speak TLS gets no plain byte, and as much time as a connection may take", "[integration]")
{
    ScriptedServer server;
    RunningStore running{
        "rediss://worker:very-secret@127.0.0.1:" + std::to_string(server.port()) + "?connect_timeout=1500ms"};
    SECTION("it says nothing")
    {
        auto const error = RunningStore::acquire_error(running.lock("wanted", 5s), {.wait = 4s});
        CHECK(error == errc::tls_failed);
        CHECK(documented(running.store().diagnostics().last_detail));
    }
    SECTION("it answers in plain words")
    {
        server.greet("-ERR Protocol error\r\n");
        CHECK(RunningStore::acquire_error(running.lock("wanted", 5s), {.wait = 10s}) == errc::tls_failed);
        auto detail = running.store().diagnostics().last_detail;
        auto const port = std::to_string(server.port());
        REQUIRE_THAT(detail, ContainsSubstring("on port " + port));
        detail.replace(detail.find(port), port.size(), "PORT");
        CHECK(documented(detail));
    }
    // every connection begins with a handshake record, and brings nothing else
    REQUIRE(eventually([&] { return !server.received().empty(); }));
    auto const received = server.received();
    CHECK(received.front() == '\x16');
    for (auto const* secret : {"very-secret", "worker", "HELLO", "AUTH", "wanted"})
        CHECK(received.find(secret) == std::string::npos);
    CHECK(server.requests(Purpose::login) == 0);
}
