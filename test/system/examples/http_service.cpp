// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// examples/http_service.cpp: SIGTERM in the middle of requests, a server that is paused while requests are under way, a
// killed instance, and an eviction.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "system/support/running_store.hpp"
#include "system/support/service_process.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using asio::ip::tcp;
namespace http = boost::beast::http;

namespace
{

/// its notice of 600 ms leaves time for a request of 300 ms
constexpr auto http_ttl = 6s;

/** One instance on a port of its own. */
struct HttpInstance {
    HttpInstance(RedisServer const& server, ScratchDirectory const& directory, std::string const& name)
        : port(free_port())
        , process(
              {std::string(TENURE_EXAMPLES) + "/http_service", server.url(), std::to_string(port),
               std::to_string(std::chrono::milliseconds(http_ttl).count())},
              directory.file(name + ".log"))
    {
    }
    [[nodiscard]] bool listens(std::size_t times = 1) const
    {
        return eventually([&] { return process.count("listens under slot") == times; }, http_ttl + 10s);
    }

    std::uint16_t port;
    ServiceProcess process;
};

/** A connection that a client keeps. */
class HttpClient
{
public:
    explicit HttpClient(std::uint16_t port)
    {
        socket_.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port), error_);
    }

    [[nodiscard]] bool connected() const { return !error_; }
    void send()
    {
        http::request<http::empty_body> request(http::verb::get, "/", 11);
        request.set(http::field::host, "localhost");
        http::write(socket_, request, error_);
    }
    /** The status; 0 if the connection ended before an answer began, -1 if it ended in the middle of one. */
    int receive()
    {
        http::response_parser<http::string_body> parser;
        if (!error_)
            http::read(socket_, buffer_, parser, error_);
        if (error_)
            return parser.got_some() ? -1 : 0;
        last_ = !parser.get().keep_alive();
        return static_cast<int>(parser.get().result_int());
    }
    /** Whether the last answer says that the service closes the connection. */
    [[nodiscard]] bool was_last() const noexcept { return last_; }

private:
    asio::io_context context_;
    tcp::socket socket_{context_};
    boost::beast::flat_buffer buffer_;
    error_code error_;
    bool last_ = false;
};

/** The replies to a client that sends one request after the other until the service closes the connection. */
struct HttpVisit {
    std::size_t answered = 0;
    std::size_t wrong = 0;
    bool told_to_close = false;
};
HttpVisit visit_until_closed(std::uint16_t port)
{
    HttpVisit visit;
    HttpClient client(port);
    while (!client.was_last()) {
        client.send();
        auto const status = client.receive();
        if (status == 0)
            break;
        ++(status == 200 ? visit.answered : visit.wrong);
    }
    visit.told_to_close = client.was_last();
    return visit;
}

/** Clients that visit a service at once. */
class HttpVisits
{
public:
    explicit HttpVisits(std::uint16_t port)
    {
        for (int i = 0; i < 3; ++i)
            visits_.push_back(std::async(std::launch::async, visit_until_closed, port));
    }

    /** Checks that the service closed each connection after more than `answers` good answers. */
    void check_end(std::size_t answers)
    {
        std::size_t told = 0;
        for (auto& visit : visits_) {
            auto const seen = visit.get();
            CHECK(seen.answered > answers);
            CHECK(seen.wrong == 0);
            told += seen.told_to_close ? 1U : 0U;
        }
        // clients in the middle of a request got their answer
        CHECK(told > 0);
    }

private:
    std::vector<std::future<HttpVisit>> visits_;
};

} // namespace

TEST_CASE_METHOD(RedisTest, "SIGTERM lets an HTTP service answer what it has, and give its slot back", "[redis][http]")
{
    ScratchDirectory const directory;
    HttpInstance instance(server, directory, "http");
    REQUIRE(instance.listens());
    HttpVisits visits(instance.port);
    HttpClient idle(instance.port);
    HttpClient once(instance.port);
    once.send();
    REQUIRE(once.receive() == 200);

    instance.process.signal(SIGTERM);
    // the idle connection does not hold it up
    CHECK(instance.process.wait_for(5s) == ExitStatus{0, 0});
    visits.check_end(0);
    CHECK_FALSE(HttpClient(instance.port).connected());
    CHECK(server.client().keys("http:*").empty());
}

TEST_CASE_METHOD(
    RedisTest, "an HTTP service that loses its store answers what it has, closes its port, and comes back",
    "[redis][http]")
{
    ScratchDirectory const directory;
    HttpInstance instance(server, directory, "http");
    REQUIRE(instance.listens());
    HttpVisits visits(instance.port);
    server.pause();
    visits.check_end(10);
    REQUIRE(eventually([&] { return instance.process.count("stops listening") == 1; }));
    CHECK_FALSE(HttpClient(instance.port).connected());

    server.resume();
    CHECK(instance.listens(2));
    HttpClient client(instance.port);
    client.send();
    CHECK(client.receive() == 200);
    CHECK(instance.process.end(SIGTERM, 5s) == ExitStatus{0, 0});
}

TEST_CASE_METHOD(RedisTest, "a third HTTP instance listens only after one of two has lost its slot", "[redis][http]")
{
    ScratchDirectory const directory;
    RunningStore const operations{server.url()};
    HttpInstance first(server, directory, "first");
    REQUIRE(first.listens());
    HttpInstance second(server, directory, "second");
    REQUIRE(second.listens());
    HttpInstance third(server, directory, "third");
    // it has had time to start when the second one has answered once more
    for (int i = 0; i < 3; ++i) {
        HttpClient client(second.port);
        client.send();
        REQUIRE(client.receive() == 200);
    }
    CHECK_FALSE(HttpClient(third.port).connected());

    auto const range = numbered_keys("http:", 2);
    auto const states = soon(operations.store().async_inspect(range, asio::use_future));
    (void)soon(operations.store().async_evict(states.at(0), "test", asio::use_future));
    REQUIRE(eventually([&] { return first.process.count("stops listening") == 1; }, http_ttl));
    // the two wait for the slot of the evicted lease
    auto const listening = [&] {
        return first.process.count("listens under slot") - 1 + third.process.count("listens under slot");
    };
    CHECK(eventually([&] { return listening() == 1; }, http_ttl + 10s));
    second.process.kill();
    CHECK(eventually([&] { return listening() == 2; }, http_ttl + 10s));
    CHECK(third.listens());
    CHECK(first.process.end(SIGINT, 5s) == ExitStatus{0, 0});
    CHECK(third.process.end(SIGINT, 5s) == ExitStatus{0, 0});
}
