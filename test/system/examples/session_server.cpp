// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// examples/session_server.cpp: SIGTERM, an eviction and an outage of the store while 100 clients are connected that
// never read, and sessions that wait for a line.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"
#include "system/support/service_process.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <csignal>
#include <list>
#include <string>
#include <thread>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using asio::ip::tcp;

namespace
{

constexpr auto session_ttl = 3s;
constexpr auto session_drain = 500ms;

struct SessionServer {
    SessionServer(RedisServer const& server, ScratchDirectory const& directory)
        : port(free_port())
        , process(
              {std::string(TENURE_EXAMPLES) + "/session_server", server.url(), std::to_string(port),
               std::to_string(std::chrono::milliseconds(session_ttl).count()), std::to_string(session_drain.count())},
              directory.file("sessions.log"))
    {
        REQUIRE(serves(1));
    }
    [[nodiscard]] bool serves(std::size_t times) const
    {
        return eventually([&] { return process.count("serves under slot") == times; }, session_ttl + 10s);
    }

    std::uint16_t port;
    ServiceProcess process;
};

/** Clients: 100 that ask and never read, until the server cannot write to them, and one that waits for its turn. */
struct Clients {
    explicit Clients(std::uint16_t port)
    {
        tcp::endpoint const server(asio::ip::address_v4::loopback(), port);
        // each line of two bytes is answered by seven
        std::string const questions(2'000'000, '\n');
        for (int i = 0; i < 100; ++i) {
            auto& socket = deaf.emplace_back(context);
            socket.open(tcp::v4());
            socket.set_option(asio::socket_base::receive_buffer_size(4096));
            socket.connect(server);
            socket.non_blocking(true);
            error_code ignored;
            socket.write_some(asio::buffer(questions), ignored);
        }
        idle.connect(server);
        asio::write(idle, asio::buffer("\n", 1));
        asio::read_until(idle, asio::dynamic_buffer(answer), '\n');
    }
    /** Whether the server ends the idle connection. */
    [[nodiscard]] bool ended()
    {
        error_code error;
        char byte = 0;
        asio::read(idle, asio::buffer(&byte, 1), error);
        return error == asio::error::eof || error == asio::error::connection_reset;
    }

    asio::io_context context;
    std::list<tcp::socket> deaf;
    tcp::socket idle{context};
    std::string answer;
};

} // namespace

TEST_CASE_METHOD(
    RedisTest, "SIGTERM ends a server whose clients never read within its drain and a second", "[redis][sessions]")
{
    ScratchDirectory const directory;
    SessionServer instance(server, directory);
    Clients clients(instance.port);
    CHECK(clients.answer == "slot 0\n");
    instance.process.signal(SIGTERM);
    CHECK(instance.process.wait_for(session_drain + 1s) == ExitStatus{0, 0});
    CHECK(instance.process.count("stopped") == 1);
    CHECK(server.client().keys("sessions:*").empty());
    CHECK(clients.ended());
}

TEST_CASE_METHOD(RedisTest, "a second SIGTERM ends the drain of a server", "[redis][sessions]")
{
    ScratchDirectory const directory;
    SessionServer instance(server, directory);
    Clients clients(instance.port);
    instance.process.signal(SIGTERM);
    std::this_thread::sleep_for(50ms);
    instance.process.signal(SIGTERM);
    CHECK(instance.process.wait_for(session_drain) == ExitStatus{0, 0});
}

TEST_CASE_METHOD(
    RedisTest, "a server that is evicted ends its sessions, and serves under another slot", "[redis][sessions]")
{
    ScratchDirectory const directory;
    SessionServer instance(server, directory);
    Clients clients(instance.port);
    RunningStore const operations{server.url()};
    auto const range = numbered_keys("sessions:", 8);
    auto const states = soon(operations.store().async_inspect(range, asio::use_future));
    (void)soon(operations.store().async_evict(states.at(0), "test", asio::use_future));
    CHECK(clients.ended());
    CHECK(instance.serves(2));
    Clients later(instance.port);
    CHECK(later.answer == "slot 1\n");
    CHECK(instance.process.end(SIGTERM, session_drain + 1s) == ExitStatus{0, 0});
}

TEST_CASE_METHOD(RedisTest, "a server that loses its store ends its sessions while its slot holds", "[redis][sessions]")
{
    ScratchDirectory const directory;
    SessionServer instance(server, directory);
    Clients clients(instance.port);
    server.pause();
    CHECK(clients.ended());
    server.resume();
    CHECK(instance.serves(2));
    CHECK(instance.process.end(SIGTERM, session_drain + 1s) == ExitStatus{0, 0});
}
