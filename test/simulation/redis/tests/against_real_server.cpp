// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The simulated server says what a real one says, byte for byte, in both protocols.
#include "simulated_client.hpp"

#include "harness/redis_server.hpp"
#include "simulation/random.hpp"
#include "store/redis/scripts/script_parts.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <memory>
#include <string>

using namespace tenure::simulation;

namespace
{

class RealClient
{
public:
    explicit RealClient(std::uint16_t port) { socket_.connect({boost::asio::ip::address_v4::loopback(), port}); }

    [[nodiscard]] std::string exchange(Commands const& commands)
    {
        auto const bytes = encode(commands) + encode({{"PING", std::string(last_words)}});
        boost::asio::write(socket_, boost::asio::buffer(bytes));
        std::string replies;
        auto const size =
            boost::asio::read_until(socket_, boost::asio::dynamic_buffer(replies), answer_to_last_words());
        CHECK(size == replies.size());
        return replies;
    }

private:
    boost::asio::io_context context_;
    boost::asio::ip::tcp::socket socket_{context_};
};

/** A real server and a simulated one, which are sent the same. */
class Both
{
public:
    explicit Both(int protocol)
    {
        if (!server_.client().info("redis_version").starts_with("7.0."))
            SKIP("the simulated server speaks as Redis 7.0 does");
        real_ = std::make_unique<RealClient>(server_.port());
        simulated_ = std::make_unique<SimulatedClient>(world_);
        // the names and versions of the servers may differ
        Commands const hello{{"HELLO", std::to_string(protocol)}};
        (void)real_->exchange(hello);
        (void)simulated_->exchange(hello);
    }

    void check(Commands const& commands)
    {
        std::string sent;
        for (auto const& words : commands) {
            for (auto const& word : words)
                sent += word + " ";
            sent += "\n";
        }
        INFO(sent);
        auto const expected = real_->exchange(commands);
        CHECK(simulated_->exchange(commands) == expected);
        INFO(world_.world.checker.violation().text);
        CHECK_FALSE(world_.world.checker.violated());
    }

private:
    tenure::test::RedisServer server_;
    QuietWorld world_;
    std::unique_ptr<RealClient> real_;
    std::unique_ptr<SimulatedClient> simulated_;
};

std::string with_line(std::string const& what)
{
    return "local line = 1\n" + std::string(tenure::redis::scripts::join_line_text) +
           std::string(tenure::redis::scripts::leave_line_text) + what;
}

} // namespace

TEST_CASE("the simulated server answers commands on lists and strings as a real one does", "[redis]")
{
    tenure::test::require_redis();
    Both both(GENERATE(2, 3));
    both.check(
        {{"RPUSH", "l", "a", "b", "c", "b"},
         {"LPUSH", "l", "x", "y"},
         {"LRANGE", "l", "0", "-1"},
         {"LRANGE", "l", "-3", "-2"},
         {"LRANGE", "l", "4", "2"},
         {"LRANGE", "l", "-100", "100"},
         {"LRANGE", "none", "0", "-1"},
         {"LRANGE", "l", "a", "1"},
         {"LLEN", "l"},
         {"LLEN", "none"},
         {"LINDEX", "l", "0"},
         {"LINDEX", "l", "-1"},
         {"LINDEX", "l", "9"},
         {"LINDEX", "none", "0"},
         {"LINDEX", "l", "a"},
         {"LPOS", "l", "b"},
         {"LPOS", "l", "none"},
         {"LPOS", "none", "b"},
         {"LREM", "l", "-1", "b"},
         {"LRANGE", "l", "0", "-1"},
         {"LREM", "l", "0", "b"},
         {"LREM", "l", "1", "none"},
         {"LREM", "none", "0", "b"},
         {"LREM", "l", "a", "b"},
         {"LPOP", "l"},
         {"LPOP", "l", "0"},
         {"LPOP", "l", "2"},
         {"LPOP", "none"},
         {"LPOP", "none", "2"},
         {"LPOP", "l", "-1"},
         {"LPOP", "l", "2", "3"},
         {"LPOP", "l", "9"},
         {"EXISTS", "l"},
         {"LPOP", "l"}});
    both.check(
        {{"RPUSH", "l", "a"},
         {"SET", "s", "word"},
         {"GET", "l"},
         {"MGET", "l", "s", "none"},
         {"EXISTS", "l", "s", "none"},
         {"INCR", "l"},
         {"INCR", "s"},
         {"SET", "l", "x", "NX"},
         {"SET", "l", "x", "GET"},
         {"PTTL", "l"},
         {"PTTL", "none"},
         {"PEXPIRE", "l", "100000"},
         {"RPUSH", "l", "b"},
         {"PEXPIRE", "l", "0"},
         {"LLEN", "l"},
         {"RPUSH", "s", "a"},
         {"LPOP", "s"},
         {"LPOP", "s", "1"},
         {"LREM", "s", "0", "a"},
         {"LRANGE", "s", "0", "-1"},
         {"LLEN", "s"},
         {"LINDEX", "s", "0"},
         {"LPOS", "s", "a"},
         {"RPUSH", "l", "a"},
         {"SET", "l", "x", "PX", "100000"},
         {"GET", "l"},
         {"DEL", "l", "s"}});
}

TEST_CASE("the simulated server queues, executes and discards as a real one does", "[redis]")
{
    tenure::test::require_redis();
    Both both(GENERATE(2, 3));
    both.check(
        {{"EXEC"},
         {"DISCARD"},
         {"MULTI"},
         {"SET", "a", "1", "NX", "PX", "100000"},
         {"SET", "a", "2", "NX", "PX", "100000"},
         {"RPUSH", "a", "x"},
         {"LPOP", "none"},
         {"MGET", "a", "none"},
         {"EXEC"},
         {"GET", "a"},
         {"MULTI"},
         {"EXEC"},
         {"MULTI"},
         {"DEL", "a"},
         {"MULTI"},
         {"DISCARD"},
         {"EXISTS", "a"}});
    // commands that are refused while they are queued
    both.check(
        {{"MULTI"}, {"DEL", "a"}, {"NONSENSE", "a", "b"}, {"SET", "b", "1"}, {"EXEC"}, {"EXISTS", "a", "b"}, {"EXEC"}});
    both.check({{"MULTI"}, {"GET"}, {"DISCARD"}, {"MULTI"}, {"SET", "b"}, {"EXEC"}, {"EXEC", "b"}});
    // nothing is taken back
    both.check(
        {{"MULTI"},
         {"SET", "c", "word"},
         {"INCR", "c"},
         {"SET", "d", "1"},
         {"EVALSHA", std::string(40, 'f'), "0"},
         {"EXEC"},
         {"MGET", "c", "d"}});
}

TEST_CASE("the simulated server runs a claim's transaction as a real one does", "[redis]")
{
    tenure::test::require_redis();
    Both both(GENERATE(2, 3));
    // tokens differ, and have as many digits on either clock
    auto const draw = std::string(draw_text) + "return string.len(draw(KEYS[1]))";
    Commands const claim{
        {"MULTI"},
        {"SET", "k1", "o1", "NX", "PX", "100000"},
        {"SET", "k2", "o2", "NX", "PX", "100000"},
        {"EVAL", draw, "1", "tenure:fence"},
        {"EXEC"},
        {"DEL", "k1"}};
    both.check({{"SCRIPT", "LOAD", draw}});
    both.check(claim);
    both.check(claim);
    both.check({{"SET", "tenure:fence", "another program's"}});
    both.check(claim);
    both.check({{"DEL", "tenure:fence"}, {"RPUSH", "tenure:fence", "a", "list"}});
    both.check(claim);
    both.check({{"SCRIPT", "FLUSH"}, {"MULTI"}, {"EVALSHA", std::string(40, '0'), "0"}, {"EXEC"}});
}

TEST_CASE("the simulated server gives scripts the errors that a real one gives them", "[redis]")
{
    tenure::test::require_redis();
    Both both(GENERATE(2, 3));
    auto const eval = [](std::string const& text) {
        return std::vector<std::string>{"EVAL", text, "3", "word", "list", "none", "name"};
    };
    auto const told = [](std::string const& call) {
        return "local r = redis.pcall(" + call + ") return {type(r), type(r) == 'table' and r.err or 'no error', r}";
    };
    both.check({{"SET", "word", "w"}, {"RPUSH", "list", "a", "b"}});
    both.check(
        {eval(told("'LPOS', KEYS[1], ARGV[1]")), eval(told("'LPOS', KEYS[2], ARGV[1]")),
         eval(told("'LPOS', KEYS[2], 'b'")), eval(told("'LPOP', KEYS[3]")), eval(told("'LPOP', KEYS[3], 2")),
         eval(told("'LPOP', KEYS[1]")), eval(told("'LRANGE', KEYS[1], 0, -1")), eval(told("'LRANGE', KEYS[2], 0, -1")),
         eval(told("'LLEN', KEYS[1]")), eval(told("'RPUSH', KEYS[1], ARGV[1]")), eval(told("'GET', KEYS[2]")),
         eval(told("'INCR', KEYS[1]")), eval(told("'INCR', KEYS[2]")), eval(told("'NONSENSE'")), eval(told("'LPOP'")),
         eval(told("'MULTI'")), eval(told("'EVAL', 'return 1', 0"))});
    both.check(
        {eval("return redis.call('GET', KEYS[2])"), eval("return redis.pcall('GET', KEYS[2])"),
         eval("local x = 1\nreturn redis.call('RPUSH', KEYS[1], 'a')"),
         eval("return redis.error_reply('ERR this is wrong')"), eval("return redis.status_reply('fine')"),
         eval("return {err = 'ERR this is wrong, too'}"), eval("return {1, false, 2}"),
         eval("return {redis.call('LPOP', KEYS[3]), 2}")});
}

TEST_CASE("the simulated server keeps lines of waiters as a real one does", "[redis]")
{
    tenure::test::require_redis();
    Both both(GENERATE(2, 3));
    auto const join = [](std::string const& line, std::string const& name, std::string const& in_front) {
        return std::vector<std::string>{"EVAL",  with_line("return join_line(ARGV[1], ARGV[2])"), "1", line, name,
                                        in_front};
    };
    both.check(
        {join("{job}:waiting", "a", ""),
         join("{job}:waiting", "b", ""),
         join("{job}:waiting", "a", ""),
         join("{job}:waiting", "c", "1"),
         {"LRANGE", "{job}:waiting", "0", "-1"},
         {"EVAL", with_line("leave_line(ARGV[1])"), "1", "{job}:waiting", "a"},
         {"LRANGE", "{job}:waiting", "0", "-1"},
         {"SET", "{plain}:waiting", "another program's"},
         join("{plain}:waiting", "a", ""),
         {"GET", "{plain}:waiting"}});
}

TEST_CASE("the simulated server answers whatever is sent to it as a real one does", "[redis]")
{
    tenure::test::require_redis();
    Both both(GENERATE(2, 3));
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        Random random(seed, 30);
        auto const key = [&] { return std::string(1, static_cast<char>('a' + random.below(3))); };
        auto const name = [&] { return std::string(1, static_cast<char>('x' + random.below(3))); };
        auto const number = [&] { return std::to_string(random.between(-3, 3)); };
        Commands commands{{"DEL", "a", "b", "c"}};
        while (commands.size() < 200) {
            std::array<std::vector<std::string>, 36> const some{
                {{"RPUSH", key(), name(), name()},
                 {"RPUSH", key(), name()},
                 {"LPUSH", key(), name()},
                 {"LPUSH", key(), name(), name()},
                 {"LPOP", key()},
                 {"LPOP", key(), number()},
                 {"LREM", key(), number(), name()},
                 {"LRANGE", key(), number(), number()},
                 {"LLEN", key()},
                 {"LINDEX", key(), number()},
                 {"LPOS", key(), name()},
                 {"HGET", key(), name()},
                 {"HMGET", key(), name(), name()},
                 {"HSET", key(), name(), number()},
                 {"HSET", key(), name(), number(), name(), number()},
                 {"HSET", key(), name(), number(), name()},
                 {"HDEL", key(), name(), name()},
                 {"HGETALL", key()},
                 {"HLEN", key()},
                 {"EVAL", "return redis.call('HGETALL', KEYS[1])", "1", key()},
                 {"SET", key(), name()},
                 {"SET", key(), number(), "NX"},
                 {"SET", key(), number(), "XX", "PX", "100000"},
                 {"SET", key(), name(), "GET"},
                 {"GET", key()},
                 {"MGET", key(), key()},
                 {"EXISTS", key(), key()},
                 {"DEL", key()},
                 {"INCR", key()},
                 {"PEXPIRE", key(), "100000"},
                 {"PEXPIRE", key(), number().starts_with('-') ? "0" : "100000"},
                 {"EVAL", "return redis.pcall('LPOP', KEYS[1])", "1", key()},
                 {"EVAL", "redis.call('RPUSH', KEYS[1], 1.5) return redis.call('INCR', KEYS[2])", "2", key(), key()},
                 {"MULTI"},
                 {"EXEC"},
                 {random.below(4) == 0 ? "GET" : "DISCARD"}}};
            commands.push_back(some.at(random.below(some.size())));
        }
        // runs the commands that are still queued
        commands.push_back({"EXEC"});
        both.check(commands);
    }
}
