// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/live_backend.hpp"
#include "system/support/live_connection.hpp"

#include "harness/redis_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace tenure::test
{

using namespace std::chrono_literals;
using redis::ConnectionState;
using redis::Delivery;

namespace
{

/// how many sockets of this process a child would inherit
int inheritable_sockets()
{
    int count = 0;
    for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        int const fd = std::stoi(entry.path().filename().string());
        struct stat status{};
        if (::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) && (::fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
            ++count;
    }
    return count;
}

/** A server whose user "worker" has one command; the user "admin" has all. */
RedisServerOptions worker_may(std::string const& command)
{
    RedisServerOptions options;
    options.config = {
        "user default off", "user worker on >secret resetchannels -@all " + command + " ~*",
        "user admin on nopass ~* &* +@all"};
    return options;
}

} // namespace

TEST_CASE("a connection works over TCP by address and by name, and over a Unix socket")
{
    require_redis();
    RedisServerOptions options;
    options.unix_socket = true;
    RedisServer const server(options);
    RedisConfig config = config_of(server);
    auto const inheritable = inheritable_sockets();
    SECTION("address")
    {
        config.host = "127.0.0.1";
    }
    // also resolves to ::1 on most machines, where the connection is refused
    SECTION("name")
    {
        config.host = "localhost";
    }
    SECTION("Unix socket")
    {
        config.socket_path = server.socket_path();
    }

    LiveConnection test(config);
    CHECK(test.ask("SET", "key", "value", "PX", 60000).reply.is_ok());
    CHECK(test.ask("GET", "key").reply == redis::resp::Value::text("value"));
    CHECK(server.client().get("key") == "value");
    CHECK(test.connection().server().server == "redis");
    CHECK(test.connection().server().protocol == 3);
    CHECK(inheritable_sockets() == inheritable);
    CHECK(test.closes_clean());
}

TEST_CASE_METHOD(RedisTest, "a database other than 0 is selected before anything else")
{
    RedisConfig config = config_of(server);
    config.database = 3;
    LiveConnection test(config);
    CHECK(test.ask("SET", "key", "value").reply.is_ok());
    auto client = server.client();
    CHECK_FALSE(client.get("key").has_value());
    client.call("SELECT", 3);
    CHECK(client.get("key") == "value");
}

TEST_CASE("a wrong login or database runs no request, and the error names the cause")
{
    require_redis();
    RedisServer const server{worker_may("+set")};
    auto config = worker_of(server);
    errc expected{};
    std::string word;
    SECTION("password")
    {
        config.password = "guess";
        expected = errc::authentication_failed;
        word = "WRONGPASS";
    }
    SECTION("user")
    {
        config.username = "nobody";
        expected = errc::authentication_failed;
        word = "WRONGPASS";
    }
    SECTION("no password")
    {
        config.username = config.password = "";
        expected = errc::authentication_failed;
        word = "asks for a password";
    }
    SECTION("database that may not be selected")
    {
        config.database = 1;
        expected = errc::permission_denied;
        word = "NOPERM";
    }
    SECTION("database that is not there")
    {
        config.username = "admin";
        config.password = "any";
        config.database = 99;
        expected = errc::wrong_database;
        word = "DB index is out of range";
    }
    LiveConnection test(config);
    auto const outcome = test.ask("SET", "key", "value");
    CHECK(outcome.delivery == Delivery::not_sent);
    CHECK(outcome.error == expected);
    CHECK(outcome.fatal);
    CHECK(outcome.detail.find(word) != std::string::npos);
    CHECK(test.logged(word) == 1);
    CHECK(test.logged("secret") == 0);
    CHECK(test.logged("guess") == 0);
    CHECK(test.connection().state() == ConnectionState::failed);

    auto client = server.client();
    client.call("AUTH", "admin", "any");
    CHECK_FALSE(client.get("key").has_value());
    CHECK(client.info("cmdstat_set").empty());
    CHECK(test.closes_clean());
}

TEST_CASE("a user with no permission but its own commands can log in, and leaves no trace in the ACL log")
{
    require_redis();
    RedisServer const server{worker_may("+get")};
    auto config = worker_of(server);
    LiveConnection test(config);
    CHECK(test.ask("GET", "key").reply.is_null());
    auto client = server.client();
    client.call("AUTH", "admin", "any");
    CHECK(client.call("ACL", "LOG").elements.empty());
}

TEST_CASE_METHOD(
    RedisTest, "requests that a killed server left open are unknown, and the connection returns with the server")
{
    LiveConnection test(config_of(server));
    CHECK(test.ask("PING").delivery == Delivery::answered);
    server.pause();
    auto const written = test.post(10s, "SET", "key", "value");
    test.run_until([&] { return test.connection().oldest_unanswered() != Instant::max(); });
    server.kill();
    test.run_until([&] { return written->has_value(); });
    CHECK((*written)->delivery == Delivery::unknown);
    CHECK((*written)->error == errc::store_unavailable);

    auto const impatient = test.post(300ms, "SET", "key", "other");
    auto const patient = test.post(20s, "SET", "key", "last");
    test.run_until([&] { return impatient->has_value(); });
    CHECK((*impatient)->delivery == Delivery::not_sent);
    CHECK((*impatient)->error == errc::store_unavailable);
    CHECK(test.connection().last_error().find("refused") != std::string::npos);

    server.start();
    test.run_until([&] { return patient->has_value(); });
    CHECK((*patient)->delivery == Delivery::answered);
    CHECK(server.client().get("key") == "last");
}

TEST_CASE_METHOD(RedisTest, "a server that hangs during the login costs the connect timeout")
{
    server.pause();
    RedisConfig config = config_of(server);
    config.connect_timeout = 200ms;
    LiveConnection test(config);
    auto const answer = test.post(20s, "PING");
    test.run_until([&] { return test.connection().state() == ConnectionState::backing_off; });
    CHECK(test.connection().last_error().find("no answer to the login within 200 ms") != std::string::npos);
    CHECK_FALSE(answer->has_value());
    server.resume();
    test.run_until([&] { return answer->has_value(); });
    CHECK((*answer)->delivery == Delivery::answered);
}

TEST_CASE_METHOD(RedisTest, "a client that the server throws out comes back")
{
    LiveConnection test(config_of(server));
    CHECK(test.ask("PING").delivery == Delivery::answered);
    server.client().call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    test.run_until([&] { return test.connection().state() == ConnectionState::backing_off; });
    CHECK(test.ask("PING").delivery == Delivery::answered);
}

TEST_CASE_METHOD(RedisTest, "a server that takes no more clients is tried again")
{
    auto client = server.client();
    client.call("CONFIG", "SET", "maxclients", 1);
    LiveConnection test(config_of(server));
    auto const answer = test.post(20s, "PING");
    test.run_until([&] { return test.connection().state() == ConnectionState::backing_off; });
    CHECK(test.connection().last_error().find("max number of clients") != std::string::npos);
    client.call("CONFIG", "SET", "maxclients", 100);
    test.run_until([&] { return answer->has_value(); });
    CHECK((*answer)->delivery == Delivery::answered);
}

TEST_CASE("a refused subscription is an answer, and messages of an allowed one arrive")
{
    require_redis();
    RedisServerOptions options;
    options.config = {"user worker on >secret resetchannels &news ~* +@all"};
    RedisServer const server(options);
    RedisConfig config = config_of(server);
    config.username = "worker";
    config.password = "secret";
    LiveConnection test(config);
    auto const refused = test.post(10s, "SUBSCRIBE", "other");
    auto const between = test.post(10s, "SET", "key", "value");
    auto const allowed = test.post(10s, "SUBSCRIBE", "news");
    auto const last = test.post(10s, "GET", "key");
    test.run_until([&] { return last->has_value(); });
    REQUIRE(refused->has_value());
    CHECK((*refused)->reply.error_word() == "NOPERM");
    REQUIRE(between->has_value());
    CHECK((*between)->reply.is_ok());
    REQUIRE(allowed->has_value());
    CHECK_FALSE((*allowed)->reply.is_error());
    CHECK((*last)->reply == redis::resp::Value::text("value"));

    server.client().call("PUBLISH", "news", "hello");
    test.run_until([&] { return !test.pushes().empty(); });
    CHECK(test.pushes().front().elements()[2].as_string() == "hello");
}

TEST_CASE_METHOD(RedisTest, "ten thousand requests at once are answered in order")
{
    LiveConnection test(config_of(server));
    std::vector<LiveConnection::Answer> answers;
    for (int i = 0; i < 10000; ++i)
        answers.push_back(test.post(20s, "ECHO", i));
    test.run_until([&] { return answers.back()->has_value(); });
    for (std::size_t i = 0; i < answers.size(); ++i) {
        REQUIRE(answers[i]->has_value());
        REQUIRE((*answers[i])->reply.as_string() == std::to_string(i));
    }
}

TEST_CASE("a host that cannot be resolved is tried again, and closing does not wait for the resolver")
{
    RedisConfig config;
    config.host = "no-such-host.invalid";
    LiveConnection test(config);
    auto const answer = test.post(20s, "PING");
    test.run_until([&] { return test.connection().state() == ConnectionState::backing_off; });
    CHECK(test.connection().last_error().find("no-such-host.invalid") != std::string::npos);
    CHECK_FALSE(answer->has_value());
    CHECK(test.closes_clean());
    REQUIRE(answer->has_value());
    CHECK((*answer)->delivery == Delivery::not_sent);
}

TEST_CASE("a socket path that is too long is refused with its reason")
{
    RedisConfig config;
    config.socket_path = "/" + std::string(200, 'x');
    LiveConnection test(config);
    auto const outcome = test.ask("PING");
    CHECK(outcome.delivery == Delivery::not_sent);
    CHECK(outcome.fatal);
}

} // namespace tenure::test
