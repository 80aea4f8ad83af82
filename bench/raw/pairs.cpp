// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "raw/client.hpp"
#include "raw/scripts.hpp"
#include "raw/workloads.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace bench::raw
{

namespace asio = boost::asio;

namespace
{

/// as long as an owner of the library: name of the worker, a slash, 128 random bits
constexpr std::string_view owner = "bench-host:12345/0123456789abcdef0123456789abcdef";
constexpr std::string_view ttl = "10000";

/** One key, and its two commands ready to be sent. */
struct Key {
    std::string acquire;
    std::string release;
    bool held = false;
};

Key make_key(unsigned number, std::string_view release_script)
{
    auto const name = "bench:lock:" + std::to_string(number);
    return {
        encode({"SET", name, owner, "NX", "PX", ttl}), encode({"EVALSHA", release_script, "1", name, owner}), false};
}

void require(bool held, Reply const& reply)
{
    check(reply);
    if (reply.text != (held ? "1" : "OK"))
        throw std::runtime_error("the raw client lost a lock");
}

/** All keys' pairs on one connection. */
class Pipeline
{
public:
    Pipeline(Client& client, unsigned keys)
        : client_(client)
    {
        auto const script = client.load(compare_and_delete);
        for (unsigned number = 0; number < keys; ++number) {
            keys_.push_back(make_key(number, script));
            output_ += keys_.back().acquire;
            unanswered_.push_back(number);
        }
    }

    /** @returns how many pairs were completed */
    std::uint64_t run(double seconds)
    {
        std::uint64_t pairs = 0;
        auto const begin = Steady::now();
        do {
            client_.send(output_);
            output_.clear();
            client_.receive();
            for (Reply reply; client_.take(reply);)
                pairs += answered(reply);
        } while (seconds_since(begin) < seconds);
        return pairs;
    }

private:
    /** @returns 1 if it completed a pair */
    std::uint64_t answered(Reply const& reply)
    {
        auto const number = unanswered_.front();
        unanswered_.pop_front();
        unanswered_.push_back(number);
        auto& key = keys_[number];
        require(key.held, reply);
        output_ += key.held ? key.acquire : key.release;
        key.held = !key.held;
        return key.held ? 0 : 1;
    }

    Client& client_;
    std::vector<Key> keys_;
    /// the keys whose commands are under way, in the order of their replies
    std::deque<unsigned> unanswered_;
    /// the bytes of the next write
    std::string output_;
};

} // namespace

Measurement pairs(std::uint16_t port, unsigned keys, double seconds)
{
    Client client(port);
    Pipeline pipeline(client, keys);
    pipeline.run(seconds / 10);
    auto const begin = Steady::now();
    auto const cpu = cpu_seconds();
    auto const pairs = static_cast<double>(pipeline.run(seconds));
    return {pairs / seconds_since(begin), (cpu_seconds() - cpu) * 1e6 / pairs};
}

Measurement pair_latency(std::uint16_t port, unsigned pairs)
{
    Client client(port);
    auto const key = make_key(0, client.load(compare_and_delete));
    std::vector<double> times;
    auto const warm_up = pairs / 10;
    for (unsigned pair = 0; pair < warm_up + pairs; ++pair) {
        auto const begin = Steady::now();
        client.send(key.acquire);
        require(false, client.reply());
        client.send(key.release);
        require(true, client.reply());
        if (pair >= warm_up)
            times.push_back(microseconds_since(begin));
    }
    return {median(times)};
}

namespace
{

/** Sends one command and waits for its reply, which fits into one read. */
asio::awaitable<void> exchange(asio::ip::tcp::socket& socket, std::string_view command, std::array<char, 512>& reply)
{
    co_await asio::async_write(socket, asio::buffer(command), asio::deferred);
    for (std::size_t size = 0; size < 2 || reply[size - 1] != '\n';)
        size += co_await socket.async_read_some(asio::buffer(reply) + size, asio::deferred);
    if (reply[0] == '-')
        throw std::runtime_error("the server refused a command");
}

asio::awaitable<void> measure_in_a_loop(std::uint16_t port, Key key, unsigned pairs, std::vector<double>& times)
{
    asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
    asio::ip::tcp::endpoint const server(asio::ip::address_v4::loopback(), port);
    co_await socket.async_connect(server, asio::deferred);
    socket.set_option(asio::ip::tcp::no_delay(true));
    std::array<char, 512> reply{};
    auto const warm_up = pairs / 10;
    for (unsigned pair = 0; pair < warm_up + pairs; ++pair) {
        auto const begin = Steady::now();
        co_await exchange(socket, key.acquire, reply);
        co_await exchange(socket, key.release, reply);
        if (pair >= warm_up)
            times.push_back(microseconds_since(begin));
    }
}

} // namespace

Measurement pair_latency_in_a_loop(std::uint16_t port, unsigned pairs)
{
    auto const key = make_key(0, Client(port).load(compare_and_delete));
    std::vector<double> times;
    asio::io_context context(1);
    std::exception_ptr failure;
    asio::co_spawn(
        context, measure_in_a_loop(port, key, pairs, times), [&](std::exception_ptr error) { failure = error; });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    return {median(times)};
}

Measurement commands(std::uint16_t port, unsigned count)
{
    Client client(port);
    auto const command = encode({"SET", "bench:floor", owner, "PX", ttl});
    auto const begin = Steady::now();
    for (unsigned number = 0; number < count; ++number) {
        client.send(command);
        check(client.reply());
    }
    return {microseconds_since(begin) / count};
}

} // namespace bench::raw
