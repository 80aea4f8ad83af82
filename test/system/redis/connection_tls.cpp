// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/certificate_authority.hpp"
#include "system/support/live_connection.hpp"

#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;
using redis::ConnectionState;
using redis::Delivery;

namespace
{

RedisConfig tls_config(RedisServer const& server, Authority const& authority)
{
    RedisConfig config;
    config.port = server.tls_port();
    config.tls.enabled = true;
    config.tls.ca_file = authority.ca();
    return config;
}

/** A server whose certificate holds, and a config that it takes. */
struct TlsTest {
    static RedisServerOptions with_good_certificate(Authority const& authority)
    {
        require_redis();
        authority.issue("good", here);
        return tls_options(authority, "good");
    }

    Authority const authority;
    RedisServer const server{with_good_certificate(authority)};
    RedisConfig config = tls_config(server, authority);
};

} // namespace

TEST_CASE_METHOD(TlsTest, "TLS connects where the certificate names the host, by address and by name")
{
    SECTION("address")
    {
    }
    SECTION("name")
    {
        config.host = "localhost";
    }
    SECTION("address, but the certificate's name is given")
    {
        config.tls.server_name = "localhost";
    }
    LiveConnection test(config);
    CHECK(test.ask("SET", "key", std::string(30000, 'x')).reply.is_ok());
    CHECK(test.ask("GET", "key").reply.as_string().size() == 30000);
    CHECK(test.closes_clean());
}

TEST_CASE("TLS refuses a certificate that does not hold, with its reason, and nothing leaves")
{
    require_redis();
    Authority const authority;
    std::string certificate;
    std::string reason;
    RedisConfig chosen;
    SECTION("for another host")
    {
        authority.issue("other", "DNS:elsewhere.example,IP:127.0.0.2");
        certificate = "other";
        reason = "IP address mismatch";
    }
    SECTION("for another name")
    {
        authority.issue("other", "DNS:elsewhere.example,IP:127.0.0.1");
        certificate = "other";
        chosen.host = "localhost";
        reason = "hostname mismatch";
    }
    SECTION("self-signed")
    {
        authority.self_sign("self", here);
        certificate = "self";
        reason = "self-signed certificate";
    }
    SECTION("expired")
    {
        authority.issue("old", here, -1);
        certificate = "old";
        reason = "certificate has expired";
    }
    RedisServer const server(tls_options(authority, certificate));
    auto config = tls_config(server, authority);
    config.host = chosen.host;
    config.password = "secret";
    {
        LiveConnection test(config);
        auto const outcome = test.ask("SET", "key", "value");
        CHECK(outcome.delivery == Delivery::not_sent);
        CHECK(outcome.error == errc::tls_failed);
        CHECK(outcome.fatal);
        CHECK(outcome.detail.find(reason) != std::string::npos);
        CHECK(test.logged(reason) == 1);
        CHECK(test.connection().state() == ConnectionState::failed);
    }
    CHECK(server.client().info("cmdstat_set").empty());
    CHECK(server.client().info("cmdstat_hello").empty());

    // the same certificate is taken where verification is switched off: the refusal was the check's
    config.tls.verify = false;
    config.password.clear();
    LiveConnection unverified(config);
    CHECK(unverified.ask("PING").delivery == Delivery::answered);
}

TEST_CASE_METHOD(TlsTest, "a certificate that the system does not know is refused when no CA file is given")
{
    config.tls.ca_file.clear();
    LiveConnection test(config);
    auto const outcome = test.ask("PING");
    CHECK(outcome.error == errc::tls_failed);
    CHECK(outcome.fatal);
}

TEST_CASE_METHOD(TlsTest, "the certificate is checked on every connect, and files are read anew")
{
    authority.issue("other", "DNS:elsewhere.example");
    config.reconnect_backoff = 50ms;
    LiveConnection test(config);
    CHECK(test.ask("PING").delivery == Delivery::answered);
    auto client = server.client();
    client.call(
        "CONFIG", "SET", "tls-cert-file", authority.certificate("other"), "tls-key-file", authority.key("other"));
    client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    test.run_until([&] { return test.connection().state() == ConnectionState::failed; });
    CHECK(test.ask("SET", "key", "value").delivery == Delivery::not_sent);
    CHECK(client.info("cmdstat_set").empty());

    // a person repairs it
    client.call("CONFIG", "SET", "tls-cert-file", authority.certificate("good"), "tls-key-file", authority.key("good"));
    test.run_until([&] { return test.ask("PING").delivery == Delivery::answered; });
}

TEST_CASE("a server that wants a client certificate gets it, and says so if it does not")
{
    require_redis();
    Authority const authority;
    authority.issue("good", here);
    authority.issue("client", "DNS:client.example");
    auto options = tls_options(authority, "good");
    options.config = {"tls-auth-clients yes"};
    RedisServer const server(options);
    auto config = tls_config(server, authority);
    SECTION("given")
    {
        config.tls.certificate_file = authority.certificate("client");
        config.tls.key_file = authority.key("client");
        LiveConnection test(config);
        CHECK(test.ask("PING").delivery == Delivery::answered);
    }
    SECTION("not given")
    {
        LiveConnection test(config);
        auto const outcome = test.ask("PING");
        CHECK(outcome.delivery == Delivery::not_sent);
        CHECK(outcome.error == errc::tls_failed);
        CHECK(outcome.detail.find("certificate required") != std::string::npos);
    }
    SECTION("not readable")
    {
        config.tls.certificate_file = authority.certificate("missing");
        config.tls.key_file = authority.key("missing");
        LiveConnection test(config);
        auto const outcome = test.ask("PING");
        CHECK(outcome.fatal);
        CHECK(outcome.detail.find(config.tls.certificate_file) != std::string::npos);
    }
}

TEST_CASE_METHOD(TlsTest, "TLS to a port without says that it is TLS")
{
    config.connect_timeout = 500ms;
    config.port = server.port();
    LiveConnection test(config);
    auto const answer = test.post(1500ms, "SET", "key", "value");
    test.run_until([&] { return answer->has_value(); });
    CHECK((*answer)->error == errc::tls_failed);
    CAPTURE((*answer)->detail);
    CHECK(
        (*answer)->detail.find("does the server speak TLS on port " + std::to_string(server.port())) !=
        std::string::npos);
}

TEST_CASE_METHOD(TlsTest, "TLS to a port without, and none to a port with, never connect")
{
    config.connect_timeout = 500ms;
    SECTION("TLS to a plain port")
    {
        config.port = server.port();
    }
    SECTION("plain to a TLS port")
    {
        config.tls.enabled = false;
    }
    LiveConnection test(config);
    auto const answer = test.post(1500ms, "SET", "key", "value");
    test.run_until([&] { return answer->has_value(); });
    CHECK((*answer)->delivery == Delivery::not_sent);
    CHECK_FALSE(test.connection().last_error().empty());
    CAPTURE(test.connection().last_error());
    CHECK_FALSE(test.connection().ready());
    CHECK(server.client().info("cmdstat_set").empty());
}

} // namespace tenure::test
