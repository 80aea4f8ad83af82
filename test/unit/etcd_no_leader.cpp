// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What is asked of members that have no leader: all of them say so at once. In virtual time, with members that the test
// plays.
#include "fake_runtime.hpp"
#include "fake_stream.hpp"

#include "etcd/backend.hpp"

#include <tenure/backend.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

constexpr auto ttl = 10s;
constexpr auto round_trip = 1ms;

/** Members without a leader, and somebody who asks again whenever the store can be reached, as acquisitions do. */
class Leaderless
{
public:
    explicit Leaderless(std::size_t members)
    {
        EtcdConfig config;
        for (std::size_t i = 0; i < members; ++i)
            config.endpoints.push_back({"127.0.0.1", static_cast<std::uint16_t>(2379 + i)});
        backend = etcd::make_backend(
            runtime, config,
            [this](std::shared_ptr<Runtime> const& strand, EtcdConfig const&, EtcdConfig::Endpoint const&) {
                streams_.push_back(std::make_shared<FakeStream>(strand));
                ++connections;
                return streams_.back();
            });
        backend->on_reachable([this] { ask(); });
        backend->shortest_ttl(ttl);
    }
    Leaderless(Leaderless const&) = delete;
    Leaderless& operator=(Leaderless const&) = delete;
    ~Leaderless()
    {
        backend->shutdown();
        runtime->run_ready();
    }

    void ask()
    {
        ClaimRequest request;
        request.range = range_;
        request.owner = "me/1";
        request.ttl = ttl;
        request.not_after = runtime->now() + 60s;
        backend->claim(request, [this](ClaimReply const& reply) { granted += std::holds_alternative<Granted>(reply); });
    }

    void run_for(std::chrono::milliseconds time)
    {
        for (auto const end = runtime->now() + time; runtime->now() < end;) {
            runtime->run_for(round_trip);
            for (auto const& stream : std::vector(streams_)) {
                if (stream->connecting)
                    stream->accept();
                runtime->run_ready();
                if (!stream->closed && !stream->take_received().empty())
                    stream->send(led ? granting : refusal);
            }
            runtime->run_ready();
            std::erase_if(streams_, [](auto const& stream) { return stream->closed; });
        }
    }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::shared_ptr<Backend> backend;
    bool led = false;
    std::size_t connections = 0;
    int granted = 0;

private:
    static constexpr char const* refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 48\r\n\r\n"
                                           R"({"error":"etcdserver: no leader","code":14     })";
    static constexpr char const* granting =
        "HTTP/1.1 200 OK\r\nContent-Length: 72\r\n\r\n"
        R"({"header":{"revision":"7","raft_term":"2"},"TTL":"10","succeeded":true })";

    std::vector<std::shared_ptr<FakeStream>> streams_;
    KeyRangePtr range_ = named_key("lock");
};

} // namespace

TEST_CASE("members without a leader are asked in turn, and after all of them comes a pause", "[etcd]")
{
    Leaderless etcd{3};
    etcd.ask();
    etcd.run_for(100ms);
    CHECK(etcd.connections >= 3);
    etcd.run_for(20s);
    // the pause grows to ttl/12
    CHECK(etcd.connections >= 20);
    CHECK(etcd.connections < 250);
    CHECK(etcd.granted == 0);
    // who waits is served soon when there is one again
    etcd.led = true;
    etcd.run_for(1500ms);
    CHECK(etcd.granted > 0);
    // and the next time begins with short pauses again
    etcd.led = false;
    etcd.connections = 0;
    etcd.ask();
    etcd.run_for(500ms);
    CHECK(etcd.connections >= 6);
}

TEST_CASE("a single member without a leader is not asked again and again", "[etcd]")
{
    Leaderless etcd{1};
    etcd.ask();
    etcd.run_for(20s);
    CHECK(etcd.connections >= 10);
    CHECK(etcd.connections < 100);
}
