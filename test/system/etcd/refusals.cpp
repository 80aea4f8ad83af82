// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Messages for a user of etcd when the server refuses: login, permission, certificate, space.
#include "system/support/certificate_authority.hpp"

#include "harness/documented.hpp"
#include "harness/etcd_server.hpp"
#include "harness/eventually.hpp"
#include "system/support/running_store.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <string>
#include <utility>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

constexpr auto ttl = 10s;

/** Switches authentication on, with a root and a worker who may use the keys that begin with "wanted". */
void switch_on_authentication(EtcdServer const& server)
{
    auto const port = server.port();
    for (auto const& arguments : std::vector<std::vector<std::string>>{
             {"user", "add", "root:root-secret"},
             {"user", "grant-role", "root", "root"},
             {"role", "add", "worker"},
             {"role", "grant-permission", "worker", "readwrite", "--prefix=true", "wanted"},
             {"user", "add", "worker:very-secret"},
             {"user", "grant-role", "worker", "worker"},
             {"auth", "enable"}})
        if (etcdctl(port, arguments).empty() && arguments[0] != "role")
            throw std::runtime_error("etcdctl " + arguments[0] + " " + arguments[1] + " failed");
}

std::string url_of(EtcdServer const& server, std::string const& login)
{
    return "etcd://" + login + "@127.0.0.1:" + std::to_string(server.port());
}

} // namespace

TEST_CASE_METHOD(EtcdTest, "a user with a password and the least permissions does all that leases need", "[etcd]")
{
    switch_on_authentication(server);
    RunningStore running{url_of(server, "worker:very-secret")};
    auto lease = RunningStore::acquire(running.lock("wanted", ttl));
    FiredAt fired{lease.token()};
    auto waiting = running.lock("wanted", ttl).async_acquire({.wait = 30s}, as_future);
    CHECK(eventually([&] { return running.store().statistics().renewals > 0; }));
    CHECK_FALSE(fired.wait(100ms));
    CHECK(running.store().statistics().renewals_failed == 0);

    // tokens of the simple kind are gone with the server's memory
    server.restart();
    CHECK(eventually([&, before = lease.valid_until()] { return lease.valid_until() > before; }));
    CHECK_FALSE(lease.token().cancelled());
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
    auto [error, next] = soon(std::move(waiting));
    CHECK_FALSE(error);
    CHECK(RunningStore::release(next) == ReleaseOutcome::released);
    auto const log = running.log();
    CHECK(log.find("very-secret") == std::string::npos);
    CHECK(log.find("may not watch") == std::string::npos);
}

TEST_CASE_METHOD(EtcdTest, "a refused login to etcd is reported in words, without secrets", "[etcd]")
{
    auto const refused = [&](std::string const& url, errc expected) {
        RunningStore running{url};
        auto const begin = std::chrono::steady_clock::now();
        auto const error = RunningStore::acquire_error(running.lock("wanted", ttl), {.wait = 15s});
        CHECK(std::chrono::steady_clock::now() - begin < 10s);
        CHECK(error == expected);
        CHECK(error == condition::misconfigured);
        CHECK(documented(running.store().diagnostics().last_detail));
        CHECK((running.log() + running.store().diagnostics().last_detail).find("secret") == std::string::npos);
    };
    refused(url_of(server, "worker:very-secret"), errc::authentication_failed); // it is not switched on
    switch_on_authentication(server);
    refused(url_of(server, "worker:wrong-secret"), errc::authentication_failed);
    refused(server.url(), errc::authentication_failed);
}

TEST_CASE_METHOD(
    EtcdTest, "a missing permission on etcd is reported with the key and the permission to grant", "[etcd]")
{
    switch_on_authentication(server);
    RunningStore running{url_of(server, "worker:very-secret")};
    auto const error = RunningStore::acquire_error(running.lock("held", ttl), {.wait = 5s});
    CHECK(error == errc::permission_denied);
    CHECK_THAT(running.store().diagnostics().last_detail, ContainsSubstring("held"));
    CHECK(documented(running.store().diagnostics().last_detail));
}

TEST_CASE("TLS to etcd takes good certificates, of both sides, and no others", "[etcd]")
{
    require_etcd();
    Authority const authority;
    authority.issue("server", here);
    authority.issue("client", "DNS:client");
    authority.issue("elsewhere", "DNS:elsewhere.example");
    EtcdServerOptions options;
    options.tls = true;
    options.tls_certificate = authority.certificate("server");
    options.tls_key = authority.key("server");
    auto const refused = [&](std::string const& url, errc expected = errc::tls_failed) {
        RunningStore running{url};
        CHECK(RunningStore::acquire_error(running.lock("wanted", ttl), {.wait = 3s}) == expected);
        return running.store().diagnostics().last_detail;
    };
    SECTION("the server's")
    {
        EtcdServer const server{options};
        RunningStore running{server.url() + "?tls_ca=" + authority.ca()};
        auto lease = RunningStore::acquire(running.lock("wanted", 3s));
        FiredAt fired{lease.token()};
        CHECK_FALSE(fired.wait(4s));
        INFO(running.log());
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        CHECK(documented(refused(server.url())));
        CHECK(documented(refused("etcd://127.0.0.1:" + std::to_string(server.port()), errc::store_unavailable)));
    }
    SECTION("for another host")
    {
        options.tls_certificate = authority.certificate("elsewhere");
        options.tls_key = authority.key("elsewhere");
        EtcdServer const server{options};
        CHECK_THAT(refused(server.url() + "?tls_ca=" + authority.ca()), ContainsSubstring("IP address mismatch"));
    }
    SECTION("the client's")
    {
        options.tls_client_ca = authority.ca();
        EtcdServer const server{options};
        auto const url = server.url() + "?tls_ca=" + authority.ca();
        RunningStore running{
            url + "&tls_cert=" + authority.certificate("client") + "&tls_key=" + authority.key("client")};
        CHECK(RunningStore::acquire_error(running.lock("wanted", ttl), {.wait = 10s}) == error_code{});
        CHECK_THAT(refused(url), ContainsSubstring("certificate"));
    }
}

TEST_CASE("a server that has run out of space grants nothing and says why; what is held stays held", "[etcd]")
{
    require_etcd();
    EtcdServer const server{{.arguments = {"--quota-backend-bytes=100000"}}};
    RunningStore running{server.url()};
    auto lease = RunningStore::acquire(running.lock("held", 5s));
    std::string const much(60'000, 'x');
    // the quota is looked at before each write, so the last one that fits goes beyond it
    for (int i = 0; i < 20 && !etcdctl(server.port(), {"put", "filling" + std::to_string(i), much}).empty(); ++i) {
    }
    CHECK(RunningStore::acquire_error(running.lock("wanted", ttl), {.wait = 1500ms}) == errc::store_refused);
    CHECK(documented(running.store().diagnostics().last_detail));
    FiredAt fired{lease.token()};
    CHECK_FALSE(fired.wait(6s));
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE("etcd refuses the connection", "[etcd]")
{
    RunningStore running{"etcd://127.0.0.1:1"};
    CHECK(RunningStore::acquire_error(running.lock("wanted", ttl), {.wait = 500ms}) == errc::store_unavailable);
    CHECK(documented(running.store().diagnostics().last_detail));
}

TEST_CASE("a ttl that etcd cannot grant is refused before anything is sent", "[etcd]")
{
    RunningStore running{"etcd://127.0.0.1:1"};
    CHECK_THROWS_AS(running.lock("wanted", 1999ms), std::invalid_argument);
    CHECK_NOTHROW(running.lock("wanted", 2000ms));
}
