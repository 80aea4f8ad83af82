// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "connection_fixture.hpp"

#include <tenure/stores/redis.hpp>

#include <boost/asio/io_context.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tenure::test
{

namespace asio = boost::asio;

namespace
{

RedisConfig with_password(std::string password, std::string username = {})
{
    RedisConfig config;
    config.password = std::move(password);
    config.username = std::move(username);
    return config;
}

std::string encoded(Command const& command)
{
    return command.encoded();
}

struct RefusedLogin {
    char const* reply;
    errc error;
    bool fatal;
};

/** The connection ends at this reply, and nothing more was written. */
void check_closed_by(ConnectionFixture& test, char const* reply)
{
    test.stream().send(reply);
    CHECK(test.received().empty());
    CHECK(test.stream().closed);
}

void check_refused(ConnectionFixture::OutcomePtr const& outcome, errc error, bool fatal)
{
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->error == error);
    CHECK((*outcome)->fatal == fatal);
}

} // namespace

TEST_CASE("a connection says HELLO, and requests leave only after the answer")
{
    ConnectionFixture test;
    auto const outcome = test.ask(Command("PING"));
    test.runtime->run_ready();
    REQUIRE(test.streams.count() == 1);
    CHECK(test.stream().connecting);
    CHECK(test.connection->state() == ConnectionState::connecting);

    test.stream().accept();
    CHECK(test.received() == encoded(Command("HELLO", 3)));
    CHECK_FALSE(test.connection->ready());
    test.stream().send(hello_reply);
    CHECK(test.received() == encoded(Command("PING")));
    CHECK(test.connection->ready());
    CHECK(test.connection->last_error().empty());

    auto const& server = test.connection->server();
    CHECK(server.server == "redis");
    CHECK(server.version.text() == "7.0.15");
    CHECK(server.mode == "standalone");
    CHECK(server.role == "master");
    CHECK(server.protocol == 3);
    CHECK(test.states == std::vector{ConnectionState::connecting, ConnectionState::ready});
    CHECK(test.runtime->logged("connected to redis 7.0.15") == 1);

    CHECK_FALSE(outcome->has_value());
    test.send("+PONG\r\n");
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->delivery == Delivery::answered);
    CHECK((*outcome)->reply == redis::resp::Value::status("PONG"));
}

TEST_CASE("nothing leaves before every answer of the login is there, however it is cut")
{
    RedisConfig config = with_password("secret", "worker");
    config.database = 5;
    ConnectionFixture test(config);
    auto const outcome = test.ask(Command("GET", "key"));
    test.runtime->run_ready();
    test.stream().accept();
    CHECK(test.received() == encoded(Command("HELLO", 3, "AUTH", "worker", "secret")));
    for (char const* byte = hello_reply; *byte != '\0'; ++byte) {
        REQUIRE(test.received().empty());
        test.stream().send(std::string(1, *byte));
    }
    CHECK(test.received() == encoded(Command("SELECT", 5)));
    test.send("+O");
    CHECK(test.received().empty());
    CHECK_FALSE(test.connection->ready());
    test.stream().send("K\r\n");
    CHECK(test.received() == encoded(Command("GET", "key")));
    CHECK_FALSE(outcome->has_value());
}

TEST_CASE("a password without a user is the default user's")
{
    ConnectionFixture test(with_password("secret"));
    test.connection->open();
    test.runtime->run_ready();
    test.stream().accept();
    CHECK(test.received() == encoded(Command("HELLO", 3, "AUTH", "default", "secret")));
}

TEST_CASE("a server that does not know HELLO gets AUTH and is spoken to in RESP2")
{
    auto const* const reply = GENERATE(
        "-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `secret`, \r\n",
        "-NOPROTO unsupported protocol version\r\n", "-ERR unknown command 'hello'\r\n",
        // proxies: unsupported, not allowed, and one that takes nothing but AUTH before the login
        "-unsupported command 'hello'\r\n", "-ERR handle request, command 'HELLO' is not allowed\r\n",
        "-NOAUTH Authentication required.\r\n", "-ERR NOAUTH Authentication required\r\n",
        "-NOAUTH HELLO must be called with the client already authenticated\r\n");
    ConnectionFixture test(with_password("secret"));
    auto const outcome = test.ask(Command("GET", "key"));
    test.runtime->run_ready();
    test.stream().accept();
    (void)test.received();
    test.stream().send(reply);
    CHECK(test.received() == encoded(Command("AUTH", "secret")));
    CHECK_FALSE(test.connection->ready());
    test.stream().send("+OK\r\n");
    CHECK(test.received() == encoded(Command("GET", "key")));
    CHECK(test.connection->ready());
    CHECK(test.connection->server().protocol == 2);
    CHECK(test.connection->server().version.empty());
    CHECK(test.runtime->logged("secret") == 0);
}

TEST_CASE("a refused login lets nothing else out")
{
    auto const [reply, error, fatal] = GENERATE(
        RefusedLogin{
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n", errc::authentication_failed, true},
        RefusedLogin{"-ERR invalid password\r\n", errc::authentication_failed, true},
        RefusedLogin{"-DENIED Redis is running in protected mode\r\n", errc::permission_denied, true},
        RefusedLogin{"-LOADING Redis is loading the dataset in memory\r\n", errc::store_refused, false},
        RefusedLogin{"-MASTERDOWN Link with MASTER is down\r\n", errc::store_refused, false},
        RefusedLogin{"-ERR max number of clients reached\r\n", errc::store_refused, false},
        RefusedLogin{"-BUSY Redis is busy running a script\r\n", errc::store_refused, false},
        RefusedLogin{"+OK\r\n", errc::protocol_error, false}, RefusedLogin{":1\r\n", errc::protocol_error, false},
        RefusedLogin{"*0\r\n", errc::protocol_error, false}, RefusedLogin{"$\r\n", errc::protocol_error, false});
    INFO(reply);
    ConnectionFixture test(with_password("secret", "worker"));
    auto const outcome = test.ask(Command("SET", "key", "value"), 50ms);
    test.runtime->run_ready();
    test.stream().accept();
    (void)test.received();
    check_closed_by(test, reply);
    CHECK(test.connection->state() == (fatal ? ConnectionState::failed : ConnectionState::backing_off));
    CHECK_FALSE(test.connection->last_error().empty());
    if (!fatal) {
        // it may come right: the request waits for its time, and no longer
        CHECK_FALSE(outcome->has_value());
        test.runtime->run_while_not([&] { return outcome->has_value(); }, 50ms);
    }
    check_refused(outcome, error, fatal);
    CHECK((*outcome)->delivery == Delivery::not_sent);
    CHECK_FALSE((*outcome)->detail.empty());
    CHECK((*outcome)->detail.find("secret") == std::string::npos);
    CHECK(test.runtime->logged("secret") == 0);
}

TEST_CASE("the reply to AUTH after a refused HELLO is final")
{
    auto const [reply, error, fatal] = GENERATE(
        RefusedLogin{"-NOAUTH Authentication required.\r\n", errc::authentication_failed, true},
        RefusedLogin{"-ERR invalid password\r\n", errc::authentication_failed, true},
        RefusedLogin{"-ERR Client sent AUTH, but no password is set\r\n", errc::authentication_failed, true},
        RefusedLogin{"-ERR unsupported command 'AUTH'\r\n", errc::authentication_failed, true},
        RefusedLogin{"-ERR wrong number of arguments for 'auth' command\r\n", errc::authentication_failed, true},
        RefusedLogin{"-LOADING Redis is loading the dataset in memory\r\n", errc::store_refused, false});
    INFO(reply);
    ConnectionFixture test(with_password("secret", "worker"));
    auto const outcome = test.ask(Command("SET", "key", "value"), 50ms);
    test.accept();
    test.stream().send("-NOAUTH Authentication required.\r\n");
    (void)test.received();
    check_closed_by(test, reply);
    test.runtime->run_while_not([&] { return outcome->has_value(); }, 50ms);
    check_refused(outcome, error, fatal);
    CHECK((*outcome)->detail.find("none is configured") == std::string::npos);
    CHECK((*outcome)->detail.find("secret") == std::string::npos);
}

TEST_CASE("a server that asks for a password is told from one whose password is missing here")
{
    ConnectionFixture test;
    auto const outcome = test.ask(Command("GET", "key"));
    test.accept();
    test.stream().send("-NOAUTH Authentication required.\r\n");
    test.runtime->run_ready();
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->error == errc::authentication_failed);
    CHECK((*outcome)->detail.find("none is configured") != std::string::npos);
}

TEST_CASE("a server that refuses scripts gets no request")
{
    auto const [reply, error, fatal] = GENERATE(
        RefusedLogin{"-ERR unsupported command 'EVAL'\r\n", errc::wrong_server, true},
        RefusedLogin{
            "-ERR unknown command 'EVAL', with args beginning with: 'return 1' '0' \r\n", errc::wrong_server, true},
        RefusedLogin{"-ERR command eval not support for normal user\r\n", errc::wrong_server, true},
        RefusedLogin{"-NOAUTH Authentication required.\r\n", errc::authentication_failed, true});
    INFO(reply);
    ConnectionFixture test({}, {.proves_scripts = true});
    auto const outcome = test.ask(Command("SET", "key", "value"));
    test.accept();
    test.stream().send(hello_reply);
    CHECK(test.received() == encoded(Command("HELLO", 3)) + encoded(Command("EVAL", "return 1", 0)));
    test.stream().send(reply);
    CHECK(test.received().empty());
    check_refused(outcome, error, fatal);
    CHECK((*outcome)->delivery == Delivery::not_sent);
    CHECK_FALSE(test.connection->ready());
}

TEST_CASE("a server without WAIT gets no claim that waits for replicas")
{
    auto const [reply, error, fatal] = GENERATE(
        RefusedLogin{"-ERR unknown command 'WAIT'\r\n", errc::wrong_server, true},
        RefusedLogin{
            "-NOPERM this user has no permissions to run the 'wait' command\r\n", errc::permission_denied, true});
    INFO(reply);
    ConnectionFixture test({}, {.acknowledged_by = 2});
    auto const outcome = test.ask(Command("SET", "key", "value"));
    test.accept();
    test.stream().send(hello_reply);
    CHECK(test.received() == encoded(Command("HELLO", 3)) + encoded(Command("WAIT", 0, 1)));
    test.stream().send(reply);
    CHECK(test.received().empty());
    check_refused(outcome, error, fatal);
    CHECK((*outcome)->detail.find("replicas=2") != std::string::npos);
}

TEST_CASE("a reply that says nothing about scripts ends the login well, and requests show the rest")
{
    auto const* const reply = GENERATE(
        ":1\r\n", "-NOPERM this user has no permissions to run the 'eval' command\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n", "-wrong number of arguments for 'eval' command\r\n",
        "-ERR Lua scripts without any input keys are not supported\r\n", "-upstream failure\r\n");
    INFO(reply);
    ConnectionFixture test({}, {.proves_scripts = true});
    auto const outcome = test.ask(Command("SET", "key", "value"));
    test.accept();
    test.stream().send(hello_reply);
    (void)test.received();
    test.stream().send(reply);
    CHECK(test.received() == encoded(Command("SET", "key", "value")));
    CHECK(test.connection->ready());
}

TEST_CASE("a refused database lets nothing else out")
{
    auto const [reply, error, fatal] = GENERATE(
        RefusedLogin{"-ERR DB index is out of range\r\n", errc::wrong_database, true},
        RefusedLogin{"-ERR invalid DB index\r\n", errc::wrong_database, true},
        RefusedLogin{"-ERR SELECT is not allowed in cluster mode\r\n", errc::wrong_database, true},
        RefusedLogin{
            "-NOPERM User worker has no permissions to run the 'select' command\r\n", errc::permission_denied, true},
        RefusedLogin{"-LOADING Redis is loading the dataset in memory\r\n", errc::store_refused, false});
    INFO(reply);
    RedisConfig config;
    config.database = 99;
    ConnectionFixture test(config);
    auto const outcome = test.ask(Command("SET", "key", "value"), 10ms);
    test.accept();
    test.stream().send(hello_reply);
    (void)test.received();
    check_closed_by(test, reply);
    test.runtime->run_while_not([&] { return outcome->has_value(); }, 10ms);
    check_refused(outcome, error, fatal);
}

TEST_CASE("after a fatal refusal requests are refused at once, and the login is tried again when its pause is over")
{
    ConnectionFixture test(with_password("old"));
    test.connection->open();
    test.runtime->run_ready();
    test.stream().accept();
    test.send("-WRONGPASS invalid\r\n");
    REQUIRE(test.connection->state() == ConnectionState::failed);
    CHECK(test.runtime->logged("WRONGPASS") == 1);
    // nothing is left that would keep a program running
    CHECK(test.runtime->timers() == 0);

    auto const early = test.ask(Command("PING"));
    CHECK_FALSE(early->has_value());
    test.runtime->run_ready();
    REQUIRE(early->has_value());
    CHECK((*early)->fatal);
    CHECK((*early)->delivery == Delivery::not_sent);
    CHECK(test.streams.count() == 1);

    test.runtime->run_for(test.config.reconnect_backoff);
    CHECK(test.streams.count() == 1);
    auto const late = test.ask(Command("PING"));
    test.become_ready();
    CHECK(test.streams.count() == 2);
    test.send("+PONG\r\n");
    REQUIRE(late->has_value());
    CHECK((*late)->delivery == Delivery::answered);
}

TEST_CASE("an unreachable or silent server costs the connect timeout, then is tried again")
{
    ConnectionFixture test;
    test.connection->open();
    test.runtime->run_ready();
    SECTION("no connection comes about")
    {
    }
    SECTION("the login is not answered")
    {
        test.stream().accept();
        test.runtime->run_ready();
    }
    SECTION("half of the answer to the login comes")
    {
        test.stream().accept();
        test.send(std::string(hello_reply).substr(0, 40));
    }
    test.runtime->run_for(test.config.connect_timeout - 1ms);
    CHECK(test.connection->state() == ConnectionState::connecting);
    test.runtime->run_for(1ms);
    CHECK(test.connection->state() == ConnectionState::backing_off);
    CHECK(test.streams[0].closed);
    test.runtime->run_for(100ms);
    CHECK(test.streams.count() == 2);
    test.become_ready();
    CHECK(test.connection->ready());
}

TEST_CASE("a stream's fatal error is the connection's")
{
    ConnectionFixture test;
    auto const outcome = test.ask(Command("PING"));
    test.runtime->run_ready();
    test.stream().accept({make_error_code(errc::tls_failed), "the certificate is refused: expired", true});
    test.runtime->run_ready();
    CHECK(test.connection->state() == ConnectionState::failed);
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->error == errc::tls_failed);
    CHECK((*outcome)->fatal);
    CHECK(test.connection->last_error() == "the certificate is refused: expired");
}

TEST_CASE("a password that the server echoes appears in no text")
{
    ConnectionFixture test(with_password("hunter2", "worker"));
    auto const outcome = test.ask(Command("PING"), 10ms);
    test.accept();
    test.send("-ERR odd hunter2hunter2 reply\x01 with hunter2\r\n");
    test.runtime->run_for(10ms);
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->detail.find("hunter2") == std::string::npos);
    CHECK((*outcome)->detail.find('\x01') == std::string::npos);
    CHECK((*outcome)->detail.find("odd ****** reply") != std::string::npos);
    CHECK(test.runtime->logged("hunter2") == 0);
}

TEST_CASE("no part of a password is left where the server's text is cut")
{
    // the text is cut at its 256th byte, and in front of what looks like the arguments of a command
    std::string const password = GENERATE("hunter2", "hunter2, with args");
    auto const before = GENERATE(range(std::size_t{230}, std::size_t{256}));
    ConnectionFixture test(with_password(password));
    auto const outcome = test.ask(Command("PING"), 10ms);
    test.accept();
    test.send("-ERR " + std::string(before, '.') + password + "\r\n");
    test.runtime->run_for(10ms);
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->detail.find("...") != std::string::npos);
    CHECK((*outcome)->detail.find(".h") == std::string::npos);
    CHECK(test.runtime->logged("...") > 0);
    CHECK(test.runtime->logged(".h") == 0);
}

namespace
{

redis::ConnectionOptions masters_only()
{
    redis::ConnectionOptions options;
    options.master_only = true;
    return options;
}

std::string hello_of(std::string const& role)
{
    return "%3\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$4\r\nrole\r\n$" +
           std::to_string(role.size()) + "\r\n" + role + "\r\n";
}

} // namespace

TEST_CASE("where only a master will do a replica is asked nothing, and tried again")
{
    RedisConfig config;
    config.database = 3;
    ConnectionFixture test(config, masters_only());
    auto const outcome = test.ask(Command("PING"));
    test.runtime->run_ready();
    test.stream().accept();
    CHECK(test.received() == encoded(Command("HELLO", 3)));
    test.stream().send(hello_of("replica"));
    CHECK(test.received().empty());
    CHECK(test.stream().closed);
    CHECK(test.connection->state() == ConnectionState::backing_off);
    CHECK(
        test.connection->last_error() == "the server is no master (its role is 'replica'), so nothing was asked of it");
    CHECK_FALSE(outcome->has_value());

    test.runtime->run_for(200ms);
    REQUIRE(test.streams.count() == 2);
    test.stream().accept();
    CHECK(test.received() == encoded(Command("HELLO", 3)));
    test.stream().send(hello_of("master"));
    CHECK(test.received() == encoded(Command("SELECT", 3)));
    test.stream().send("+OK\r\n");
    CHECK(test.received() == encoded(Command("PING")));
}

TEST_CASE("where HELLO does not tell the role, ROLE is asked before anything else")
{
    auto const [role, good] = GENERATE(table<std::string, bool>(
        {{"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n", true},
         {"*2\r\n$5\r\nslave\r\n$1\r\nx\r\n", false},
         {"*2\r\n$8\r\nsentinel\r\n*0\r\n", false},
         {"*0\r\n", false},
         {"-NOPERM this user has no permissions to run the 'role' command\r\n", false}}));
    CAPTURE(role);
    ConnectionFixture test(with_password("secret"), masters_only());
    auto const outcome = test.ask(Command("PING"));
    test.runtime->run_ready();
    test.stream().accept();
    static_cast<void>(test.received());
    test.stream().send("-ERR unknown command 'HELLO'\r\n");
    CHECK(test.received() == encoded(Command("AUTH", "secret")));
    test.stream().send("+OK\r\n");
    CHECK(test.received() == encoded(Command("ROLE")));
    test.stream().send(role);
    CHECK(test.received() == (good ? encoded(Command("PING")) : ""));
    CHECK(test.connection->ready() == good);
}

namespace
{

std::string info_reply(std::string const& run_id)
{
    auto const text = "# Server\r\nredis_version:7.0.15\r\nrun_id:" + run_id + "\r\ntcp_port:6379\r\n";
    return "=" + std::to_string(text.size() + 4) + "\r\ntxt:" + text + "\r\n";
}

} // namespace

TEST_CASE("a command that wants the run id gets that of the process that it is written to")
{
    ConnectionFixture test({}, {.name = {}, .learns_run_id = true});
    auto const with_run_id = [] { return std::move(Command("CLAIM", "a").add_run_id()); };
    auto const filled_in = [](char digit) { return encoded(Command("CLAIM", "a", std::string(40, digit))); };
    auto const outcome = test.ask(with_run_id());
    test.runtime->run_ready();
    test.stream().accept();
    CHECK(test.received() == encoded(Command("HELLO", 3)));
    test.stream().send(hello_reply);
    CHECK(test.received() == encoded(Command("INFO", "server")));
    CHECK_FALSE(test.connection->ready());
    test.stream().send(info_reply(std::string(40, '1')));
    CHECK(test.received() == filled_in('1'));
    CHECK(test.connection->server().run_id == std::string(40, '1'));
    test.send("+OK\r\n");
    REQUIRE(outcome->has_value());

    // asked while there is no connection: the process that it will be is not known yet
    test.cut();
    auto const later = test.ask(with_run_id());
    test.runtime->run_for(5s);
    test.stream().accept();
    (void)test.received();
    test.stream().send(hello_reply);
    (void)test.received();
    test.stream().send(info_reply(std::string(40, '2')));
    CHECK(test.received() == filled_in('2'));
}

TEST_CASE("where nobody wants the run id the login does not ask for it")
{
    ConnectionFixture test;
    auto const outcome = test.ask(Command("PING"));
    test.become_ready();
    CHECK(test.connection->ready());
    CHECK(test.connection->server().run_id.empty());
}

TEST_CASE("a server that does not tell its run id is refused, with what to do")
{
    auto const [reply, error, advice] = GENERATE(table<std::string, errc, char const*>({
        {"-NOPERM this user has no permissions to run the 'info' command\r\n", errc::permission_denied, "grant +info"},
        {info_reply("12345"), errc::store_refused, "switch delay_after_failover off"},
        {info_reply(std::string(39, 'a') + " "), errc::store_refused, "switch delay_after_failover off"},
        {"+OK\r\n", errc::store_refused, "switch delay_after_failover off"},
    }));
    ConnectionFixture test({}, {.name = {}, .learns_run_id = true});
    auto const outcome = test.ask(Command("PING"));
    test.runtime->run_ready();
    test.stream().accept();
    (void)test.received();
    test.stream().send(hello_reply);
    (void)test.received();
    test.stream().send(reply);
    test.runtime->run_ready();
    REQUIRE(outcome->has_value());
    CHECK((*outcome)->delivery == Delivery::not_sent);
    CHECK((*outcome)->error == error);
    CHECK((*outcome)->fatal);
    CHECK((*outcome)->detail.find(advice) != std::string::npos);
}

TEST_CASE("a credentials callback is asked at each login, so that rotated passwords count")
{
    RedisConfig config;
    int logins = 0;
    config.credentials = [&logins] { return Credentials{"worker", "secret-" + std::to_string(++logins)}; };
    ConnectionFixture test(config);
    test.connection->open();
    test.runtime->run_ready();
    test.stream().accept();
    CHECK(test.received() == encoded(Command("HELLO", 3, "AUTH", "worker", "secret-1")));
    test.stream().send(hello_reply);
    test.cut();
    test.runtime->run_for(1s);
    REQUIRE(test.streams.count() == 2);
    test.stream().accept();
    CHECK(test.received() == encoded(Command("HELLO", 3, "AUTH", "worker", "secret-2")));
}

TEST_CASE("a credentials callback that throws fails that attempt, and the next one asks again")
{
    RedisConfig config;
    bool expired = true;
    config.credentials = [&expired] {
        if (expired)
            throw std::runtime_error("the token has expired");
        return Credentials{"", "fresh"};
    };
    ConnectionFixture test(config);
    auto const outcome = test.ask(Command("PING"));
    test.accept();
    CHECK(test.received().empty());
    CHECK(test.connection->last_error() == "the credentials callback of the config failed: the token has expired");
    expired = false;
    test.runtime->run_for(1s);
    test.stream().accept();
    CHECK(test.received() == encoded(Command("HELLO", 3, "AUTH", "default", "fresh")));
}

TEST_CASE("a credentials callback that returns an empty password fails the attempt")
{
    RedisConfig config;
    std::string password;
    config.credentials = [&password] { return Credentials{"worker", password}; };
    ConnectionFixture test(config);
    auto const outcome = test.ask(Command("PING"));
    test.accept();
    CHECK(test.received().empty());
    CHECK(test.connection->last_error() == "the credentials callback of the config failed: it returned no password");
    password = "fresh";
    test.runtime->run_for(1s);
    test.stream().accept();
    CHECK(test.received() == encoded(Command("HELLO", 3, "AUTH", "worker", "fresh")));
}

TEST_CASE("a refused password is final at the first login, and asked for again at later ones")
{
    RedisConfig config;
    std::string password = "first";
    config.credentials = [&password] { return Credentials{"worker", password}; };
    ConnectionFixture test(config);
    bool const was_logged_in = GENERATE(true, false);
    test.connection->open();
    test.runtime->run_ready();
    test.stream().accept();
    (void)test.received();
    if (was_logged_in) {
        test.stream().send(hello_reply);
        test.cut();
        test.runtime->run_for(1s);
        test.stream().accept();
        (void)test.received();
    }
    auto const outcome = test.ask(Command("PING"), 1min);
    test.stream().send("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    test.runtime->run_ready();
    CHECK(outcome->has_value() != was_logged_in);
    password = "second";
    test.runtime->run_for(5s);
    if (was_logged_in) {
        test.stream().accept();
        CHECK(test.received() == encoded(Command("HELLO", 3, "AUTH", "worker", "second")));
        CHECK_FALSE(outcome->has_value());
    } else {
        REQUIRE(outcome->has_value());
        CHECK((*outcome)->error == errc::authentication_failed);
        CHECK((*outcome)->fatal);
    }
}

TEST_CASE("a fixed password beside a credentials callback is refused, without being shown")
{
    asio::io_context context;
    RedisConfig config;
    config.password = "secret";
    config.credentials = [] { return Credentials{}; };
    CHECK_THROWS_WITH(
        open_store(context.get_executor(), config),
        "RedisConfig::password = '***': must be empty where there is a credentials callback");
}

TEST_CASE("an address map says where a server is reached")
{
    auto const runtime = std::make_shared<FakeRuntime>();
    std::vector<std::string> dialled;
    redis::StreamFactory const dial = [&](std::shared_ptr<Runtime> const&, RedisConfig const& config) {
        dialled.push_back(config.host + ":" + std::to_string(config.port));
        return std::shared_ptr<redis::Stream>();
    };
    auto const mapped = redis::with_address_map(dial, [](Endpoint const& announced) {
        return announced.host == "10.0.0.7" ? Endpoint{"localhost", 7007} : announced;
    });
    RedisConfig config;
    config.host = "10.0.0.7";
    static_cast<void>(mapped(runtime, config));
    config.host = "127.0.0.1";
    static_cast<void>(mapped(runtime, config));
    CHECK(dialled == std::vector<std::string>{"localhost:7007", "127.0.0.1:6379"});
}

} // namespace tenure::test
