// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests to members without a leader, which say so at once, and to silent members. In virtual time, with members that
// the test plays.
#include "harness/immovable.hpp"
#include "unit/fake_runtime.hpp"
#include "unit/store/redis/link/fake_stream.hpp"

#include "store/etcd/backend.hpp"

#include <net/stream.hpp>

#include <tenure/backend/backend.hpp>

#include <boost/asio/error.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

constexpr auto ttl = 10s;
constexpr auto round_trip = 1ms;

enum class Says { nothing, that_there_is_no_leader, yes };

/** Members that begin without a leader, and a client that retries each time the store becomes reachable, as
 *  acquisitions do. */
class ClusterNodes : Immovable
{
public:
    explicit ClusterNodes(std::size_t count, EtcdConfig config = {})
        : says(count, Says::that_there_is_no_leader)
        , lets_in(count, true)
    {
        config.endpoints.clear();
        for (std::size_t i = 0; i < count; ++i)
            config.endpoints.push_back({"127.0.0.1", static_cast<std::uint16_t>(first_port + i)});
        backend = etcd::make_backend(
            runtime, config,
            [this](std::shared_ptr<Runtime> const& strand, EtcdConfig const&, Endpoint const& endpoint) {
                auto stream = std::make_shared<FakeStream>(strand);
                streams_.push_back({stream, std::size_t{endpoint.port} - first_port});
                ++connections;
                return stream;
            });
        backend->on_reachable([this] { ask(); });
        backend->shortest_ttl(ttl);
    }
    ~ClusterNodes()
    {
        backend->shutdown();
        runtime->run_ready();
    }

    void ask()
    {
        ClaimRequest request;
        request.range = range_;
        request.owner = "me/" + std::to_string(++asked_);
        request.ttl = ttl;
        request.not_after = runtime->now() + 60s;
        backend->claim(request, [this](ClaimReply const& reply) { granted += std::holds_alternative<Granted>(reply); });
    }

    /** A request to members of which none answers. */
    void ask_in_silence()
    {
        says.assign(says.size(), Says::nothing);
        ask();
        run_for(10ms);
    }

    void run_for(std::chrono::milliseconds time)
    {
        for (auto const end = runtime->now() + time; runtime->now() < end;) {
            runtime->run_for(round_trip);
            for (auto const& [stream, member] : std::vector(streams_)) {
                if (stream->connecting)
                    stream->accept(lets_in[member] ? net::StreamError{} : refused);
                runtime->run_ready();
                if (!stream->closed && !stream->take_received().empty() && says[member] != Says::nothing)
                    stream->send(says[member] == Says::yes ? granting : refusal);
            }
            runtime->run_ready();
            std::erase_if(streams_, [](auto const& one) { return one.stream->closed; });
        }
    }

    /** That the newest connection is to. */
    [[nodiscard]] std::size_t in_use() const { return streams_.back().member; }

    std::shared_ptr<FakeRuntime> runtime = std::make_shared<FakeRuntime>();
    std::shared_ptr<Backend> backend;
    std::vector<Says> says;
    /// else connections are refused
    std::vector<bool> lets_in;
    std::size_t connections = 0;
    int granted = 0;

private:
    struct Connection {
        std::shared_ptr<FakeStream> stream;
        std::size_t member;
    };

    static constexpr std::uint16_t first_port = 2379;
    static inline net::StreamError const refused{asio::error::connection_refused, "Connection refused", false};
    static constexpr char const* refusal = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 48\r\n\r\n"
                                           R"({"error":"etcdserver: no leader","code":14     })";
    static constexpr char const* granting =
        "HTTP/1.1 200 OK\r\nContent-Length: 83\r\n\r\n"
        R"({"header":{"revision":"7","raft_term":"2"},"TTL":"10","succeeded":true,"token":"t"})";

    std::vector<Connection> streams_;
    int asked_ = 0;
    KeyRangePtr range_ = named_key("lock");
};

EtcdConfig with_connections(std::uint32_t most)
{
    EtcdConfig config;
    config.connections = most;
    return config;
}

} // namespace

TEST_CASE("members without a leader are asked in turn, and after all of them comes a pause", "[etcd]")
{
    ClusterNodes etcd{3};
    etcd.ask();
    etcd.run_for(100ms);
    CHECK(etcd.connections >= 3);
    etcd.run_for(20s);
    // the pause grows to ttl/12
    CHECK(etcd.connections >= 20);
    CHECK(etcd.connections < 250);
    CHECK(etcd.granted == 0);
    // waiting requests are served soon after a leader is elected
    etcd.says.assign(3, Says::yes);
    etcd.run_for(1500ms);
    CHECK(etcd.granted > 0);
    // and the next time begins with short pauses again
    etcd.says.assign(3, Says::that_there_is_no_leader);
    etcd.connections = 0;
    etcd.ask();
    etcd.run_for(500ms);
    CHECK(etcd.connections >= 6);
}

TEST_CASE("a single member without a leader is not asked again and again", "[etcd]")
{
    ClusterNodes etcd{1};
    etcd.ask();
    etcd.run_for(20s);
    CHECK(etcd.connections >= 10);
    CHECK(etcd.connections < 100);
}

TEST_CASE("unanswered requests to other members do not block the member that answers", "[etcd]")
{
    // which of them is asked first is up to the client
    for (std::size_t good = 0; good < 3; ++good) {
        ClusterNodes etcd{3, with_connections(4)};
        etcd.says.assign(3, Says::nothing);
        etcd.says[good] = Says::yes;
        // more than there may be connections
        for (int i = 0; i < 20; ++i)
            etcd.ask();
        // a second of silence at each of the two others
        etcd.run_for(3s);
        CAPTURE(good, etcd.connections);
        CHECK(etcd.granted >= 12);
    }
}

TEST_CASE("a login that a member leaves unanswered is tried at the next one", "[etcd]")
{
    for (std::size_t good = 0; good < 3; ++good) {
        EtcdConfig config;
        config.username = "worker";
        config.password = "secret";
        ClusterNodes etcd{3, config};
        etcd.says.assign(3, Says::nothing);
        etcd.says[good] = Says::yes;
        etcd.ask();
        etcd.run_for(3s);
        CAPTURE(good, etcd.connections);
        CHECK(etcd.granted > 0);
    }
}

TEST_CASE("a member that refuses further connections is tried only with pauses beside a working connection", "[etcd]")
{
    ClusterNodes etcd{1, with_connections(4)};
    etcd.ask_in_silence();
    auto const before = etcd.connections;
    etcd.lets_in[0] = false;
    for (int i = 0; i < 3; ++i)
        etcd.ask();
    // shorter than what silence is borne for
    etcd.run_for(800ms);
    CHECK(etcd.connections - before >= 1);
    // three at a time, 50 to 100 ms apart
    CHECK(etcd.connections - before < 60);
}

TEST_CASE("a member that refuses further connections, and then falls silent, does not block the next member", "[etcd]")
{
    ClusterNodes etcd{2, with_connections(16)};
    etcd.ask_in_silence();
    auto const first = etcd.in_use();
    etcd.lets_in[first] = false;
    etcd.says[1 - first] = Says::yes;
    for (int i = 0; i < 15; ++i)
        etcd.ask();
    // a second of silence, and not the pauses after all that were refused
    etcd.run_for(1100ms);
    CHECK(etcd.granted > 0);
}

TEST_CASE("a member that refuses connections is logged less and less often, and its return once", "[etcd][log]")
{
    ClusterNodes etcd{1};
    etcd.says.assign(1, Says::yes);
    etcd.lets_in[0] = false;
    auto const end = etcd.runtime->now() + 70s;
    while (etcd.runtime->now() < end) {
        etcd.ask();
        etcd.run_for(1s);
    }
    CHECK(etcd.connections > 50);
    CHECK(etcd.runtime->logged("etcd://127.0.0.1:2379: Connection refused") == 4);
    CHECK(etcd.runtime->logged(" times in 1 min") == 1);
    etcd.lets_in[0] = true;
    etcd.run_for(2s);
    REQUIRE(etcd.granted > 0);
    CHECK(etcd.runtime->logged("reachable again after 1 min 1") == 1);
    CHECK(etcd.runtime->lines().size() == 5);
}
