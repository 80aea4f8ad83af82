// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The pages of `tenure run --metrics` and `tenure exporter`.
#include "system/support/tool_process.hpp"

#include "harness/redis_server.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <csignal>
#include <iterator>
#include <list>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;
using Words = std::vector<std::string>;

namespace
{

/** The whole answer to one request; empty if nothing answers. */
std::string ask(std::string const& address, std::string const& request)
{
    auto const colon = address.rfind(':');
    boost::asio::ip::tcp::iostream stream;
    stream.expires_after(10s);
    stream.connect(address.substr(0, colon), address.substr(colon + 1));
    stream << request << std::flush;
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::string get(std::string const& address, std::string const& page)
{
    return ask(address, "GET " + page + " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
}

std::string free_address()
{
    return "127.0.0.1:" + std::to_string(free_port());
}

} // namespace

TEST_CASE("a run serves its metrics, and is ready while its command runs under the lease", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto const address = free_address();
    auto const other_address = free_address();
    Words const options = {"run", "--pool", "job:", "--size", "1", "--ttl", "2s", "--metrics"};
    auto first_words = options;
    first_words.insert(first_words.end(), {address, "sh", "-c", "echo runs; exec sleep 600"});
    ToolProcess first(first_words, server.url());
    REQUIRE(first.says("runs"));
    CHECK_THAT(get(address, "/ready"), ContainsSubstring("HTTP/1.1 200 OK"));
    auto const page = get(address, "/metrics");
    CHECK_THAT(page, ContainsSubstring("Content-Type: text/plain; version=0.0.4"));
    CHECK_THAT(
        page,
        ContainsSubstring("tenure_leases_held{store=\"" + server.url() + "/0\",kind=\"pool\",name=\"job:\"} 1\n"));

    auto second_words = options;
    second_words.insert(second_words.end(), {other_address, "sh", "-c", "echo runs; exec sleep 600"});
    ToolProcess second(second_words, server.url());
    // it waits for the only slot
    REQUIRE(eventually([&] {
        return get(other_address, "/ready").find("HTTP/1.1 503") != std::string::npos &&
               get(other_address, "/metrics").find("name=\"job:\"} 1\n") != std::string::npos;
    }));
    CHECK_THAT(get(other_address, "/metrics"), ContainsSubstring("tenure_acquisitions_waiting{"));

    first.process().signal(SIGTERM);
    REQUIRE(second.says("runs"));
    CHECK(eventually([&] { return get(other_address, "/ready").find("HTTP/1.1 200") != std::string::npos; }));
}

TEST_CASE("a page that is none, a method that is none and bytes that are no request do no harm", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto const address = free_address();
    ToolProcess run(
        {"run", "--lock", "nightly", "--metrics", address, "sh", "-c", "echo runs; exec sleep 600"}, server.url());
    REQUIRE(run.says("runs"));
    CHECK_THAT(get(address, "/"), ContainsSubstring("HTTP/1.1 404"));
    CHECK_THAT(
        ask(address, "DELETE /metrics HTTP/1.1\r\nConnection: close\r\n\r\n"), ContainsSubstring("HTTP/1.1 405"));
    auto const head = ask(address, "HEAD /metrics HTTP/1.1\r\nConnection: close\r\n\r\n");
    CHECK_THAT(head, ContainsSubstring("HTTP/1.1 200") && ContainsSubstring("Content-Length: "));
    CHECK(head.ends_with("\r\n\r\n"));
    CHECK(ask(address, std::string(20'000, 'x')).empty());
    CHECK(ask(address, "GET /metrics HTTP/1.1\r\nx: " + std::string(20'000, 'x') + "\r\n\r\n").empty());
    // several on one connection
    auto const two = ask(address, "GET /ready HTTP/1.1\r\n\r\nGET /ready HTTP/1.1\r\nConnection: close\r\n\r\n");
    CHECK(two.find("ready\n") != two.rfind("ready\n"));
    CHECK_THAT(get(address, "/ready"), ContainsSubstring("HTTP/1.1 200 OK"));
}

TEST_CASE("an address that cannot be used is refused before anything is acquired", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto redis = server.client();
    for (auto const& [address, words] : std::vector<std::pair<std::string, std::string>>{
             {"9100", "is not an address to serve metrics on: write HOST:PORT"},
             {"127.0.0.1:70000", "is not an address to serve metrics on"},
             {"::1:9100", "is not an address to serve metrics on"},
             {"127.0.0.1:" + std::to_string(server.port()), "Address already in use"}}) {
        ToolProcess run({"run", "--lock", "nightly", "--metrics", address, "true"}, server.url());
        CHECK(run.exit_code() == 64);
        CHECK_THAT(run.output(), ContainsSubstring(words));
    }
    CHECK_FALSE(redis.get("nightly").has_value());
}

TEST_CASE("an exporter shows holders, free slots, leaders and whether the store answers", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto const address = free_address();
    ToolProcess worker(
        {"run", "--pool", "job:", "--size", "3", "--worker", "w1", "sh", "-c", "echo runs; exec sleep 600"},
        server.url());
    REQUIRE(worker.says("runs"));
    ToolProcess exporter(
        {"exporter", "--pool", "job:", "--size", "3", "--election", "scheduler", "--metrics", address}, server.url());
    REQUIRE(exporter.says("serving the metrics of " + server.url() + "/0 on http://" + address + "/metrics"));
    auto const labels = "store=\"" + server.url() + "/0\",kind=\"pool\",name=\"job:\"";
    auto const page = get(address, "/metrics");
    CHECK_THAT(page, ContainsSubstring("tenure_store_up{store=\"" + server.url() + "/0\"} 1\n"));
    CHECK_THAT(page, ContainsSubstring("tenure_pool_size{" + labels + "} 3\n"));
    CHECK_THAT(page, ContainsSubstring("tenure_slots{" + labels + ",state=\"free\"} 2\n"));
    CHECK_THAT(page, ContainsSubstring("tenure_slots{" + labels + ",state=\"held\"} 1\n"));
    CHECK_THAT(page, ContainsSubstring("tenure_slot_holder_info{" + labels + ",slot=\"0\",holder=\"w1\"} 1\n"));
    CHECK_THAT(page, ContainsSubstring("tenure_slot_remaining_seconds{" + labels + ",slot=\"0\"} "));
    CHECK_THAT(page, ContainsSubstring("tenure_slot_held_since_timestamp_seconds{" + labels + ",slot=\"0\"} "));
    CHECK_THAT(page, ContainsSubstring("kind=\"election\",name=\"scheduler\",state=\"held\"} 0\n"));
    CHECK_THAT(get(address, "/ready"), ContainsSubstring("HTTP/1.1 200"));

    server.kill();
    CHECK_THAT(get(address, "/metrics"), ContainsSubstring("tenure_store_up{store=\"" + server.url() + "/0\"} 0\n"));
    CHECK_THAT(get(address, "/metrics"), !ContainsSubstring("tenure_slots{"));
    CHECK_THAT(get(address, "/ready"), ContainsSubstring("HTTP/1.1 503"));
    server.start();
    CHECK(eventually([&] {
        return get(address, "/metrics").find("tenure_store_up{store=\"" + server.url() + "/0\"} 1\n") !=
               std::string::npos;
    }));
    exporter.process().signal(SIGTERM);
    CHECK(exporter.exit_code() == 0);
}

TEST_CASE("an exporter takes a pool, locks and elections together", "[integration][tool]")
{
    require_redis();
    RedisServer const server;
    auto const address = free_address();
    ToolProcess exporter(
        {"exporter", "--pool", "job:", "--size", "3", "--lock", "nightly", "--lock", "weekly", "--election",
         "scheduler", "--metrics", address},
        server.url());
    REQUIRE(exporter.says("serving the metrics"));
    auto const page = get(address, "/metrics");
    auto const size = "tenure_pool_size{store=\"" + server.url() + "/0\",";
    CHECK_THAT(page, ContainsSubstring(size + "kind=\"pool\",name=\"job:\"} 3\n"));
    CHECK_THAT(page, ContainsSubstring(size + "kind=\"lock\",name=\"nightly\"} 1\n"));
    CHECK_THAT(page, ContainsSubstring(size + "kind=\"lock\",name=\"weekly\"} 1\n"));
    CHECK_THAT(page, ContainsSubstring(size + "kind=\"election\",name=\"scheduler\"} 1\n"));
}

TEST_CASE("connections that say nothing hold up no scrape", "[integration][tool]")
{
    require_redis();
    RedisServer server;
    auto const address = free_address();
    ToolProcess exporter({"exporter", "--lock", "nightly", "--metrics", address}, server.url());
    REQUIRE(exporter.says("serving"));
    auto const colon = address.rfind(':');
    std::list<boost::asio::ip::tcp::iostream> silent;
    for (int i = 0; i < 40; ++i) {
        silent.emplace_back().connect(address.substr(0, colon), address.substr(colon + 1));
        // half a request
        silent.back() << "GET /metrics HTTP/1.1\r\n" << std::flush;
    }
    auto const begin = std::chrono::steady_clock::now();
    CHECK_THAT(get(address, "/metrics"), ContainsSubstring("tenure_store_up{"));
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
    // the last ones are still served
    silent.back() << "Host: test\r\nConnection: close\r\n\r\n" << std::flush;
    silent.back().expires_after(10s);
    std::string const late{std::istreambuf_iterator<char>(silent.back()), {}};
    CHECK_THAT(late, ContainsSubstring("tenure_store_up{"));
}

TEST_CASE("an exporter ends without an error while a scraper's connection is open", "[integration][tool]")
{
    require_redis();
    auto const address = free_address();
    ToolProcess exporter({"exporter", "--size", "1", "--metrics", address}, "memory://open-connection");
    REQUIRE(exporter.says("serving the metrics"));
    auto const colon = address.rfind(':');
    boost::asio::ip::tcp::iostream scraper;
    scraper.expires_after(10s);
    scraper.connect(address.substr(0, colon), address.substr(colon + 1));
    scraper << "GET /ready HTTP/1.1\r\nHost: test\r\n\r\n" << std::flush;
    std::string status;
    std::getline(scraper, status);
    CHECK_THAT(status, ContainsSubstring("HTTP/1.1 503"));
    // the answer was sent, and the connection waits for the next request
    exporter.process().signal(SIGTERM);
    CHECK(exporter.exit_code() == 0);
}

TEST_CASE("an exporter takes a password and shows none", "[integration][tool]")
{
    require_redis();
    RedisServer server(RedisServerOptions{.config = {"requirepass not-for-eyes"}});
    auto const address = free_address();
    ToolProcess exporter(
        {"exporter", "--lock", "nightly", "--metrics", address},
        "redis://:not-for-eyes@127.0.0.1:" + std::to_string(server.port()));
    REQUIRE(exporter.says("serving"));
    auto const page = get(address, "/metrics");
    CHECK_THAT(page, ContainsSubstring("tenure_store_up{") && ContainsSubstring("} 1\n"));
    CHECK_THAT(page + exporter.output(), !ContainsSubstring("not-for-eyes"));
}
