// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One ZooKeeper server and many leases of one process: how a lost one is noticed among those that one write proves, and
// that a session never has more nodes than a server can end at a time.
#include "harness/child_process.hpp"
#include "harness/eventually.hpp"
#include "harness/fault_proxy.hpp"
#include "harness/paths.hpp"
#include "harness/scratch_directory.hpp"
#include "harness/zookeeper_client.hpp"
#include "harness/zookeeper_server.hpp"
#include "system/support/live_backend.hpp"
#include "system/support/running_store.hpp"

#include "store/zookeeper/backend.hpp"
#include "store/zookeeper/config.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <future>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

constexpr auto lasting = 6s;
/// from one renewal of a lease to the next, with all that is added to it
constexpr auto renewal_interval = lasting / 3;

[[nodiscard]] std::string key(std::size_t number)
{
    return "of-many" + std::to_string(number) + ":";
}

[[nodiscard]] std::string path(std::size_t number)
{
    return "/" + key(number) + "/lock";
}

[[nodiscard]] std::string through(ZookeeperServer const& server, FaultProxy const& proxy)
{
    auto url = server.url();
    auto const port = std::to_string(server.port());
    return url.replace(url.find(port), port.size(), std::to_string(proxy.port()));
}

[[nodiscard]] std::vector<Lease> acquire_all(RunningStore const& store, std::size_t count)
{
    std::vector<std::future<std::tuple<error_code, Lease>>> pending;
    pending.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        pending.push_back(store.lock(key(i), lasting).async_acquire(as_future));
    std::vector<Lease> held;
    for (auto& one : pending) {
        auto [error, lease] = soon(std::move(one));
        if (error)
            throw std::runtime_error(error.message());
        held.push_back(std::move(lease));
    }
    return held;
}

/** The output of a helper program. */
[[nodiscard]] std::string text_of(std::string const& file)
{
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

/** The number of requests that the server has received, by its own count for all connections. */
[[nodiscard]] std::size_t received_by(ZookeeperServer const& server)
{
    auto const words = zookeeper_word(server.port(), "srvr");
    auto const begin = words.find("Received: ");
    return begin == std::string::npos ? 0 : std::stoul(words.substr(begin + 10));
}

} // namespace

TEST_CASE_METHOD(
    ZookeeperTest, "among a thousand leases of one session each lost one is noticed by its next renewal",
    "[zookeeper][many]")
{
    FaultProxy proxy{server.port()};
    RunningStore store{through(server, proxy)};
    RunningStore other{server.url()};
    ZookeeperClient person{server.port()};
    constexpr std::size_t count = 1000;
    auto held = acquire_all(store, count);
    CHECK(person.get(path(0)).value().ephemeral_owner == person.get(path(count - 1)).value().ephemeral_owner);
    auto const valid = held.back().valid_until();
    REQUIRE(eventually([&] { return held.back().valid_until() > valid + renewal_interval; }, 10s));

    std::set<std::size_t> lost;
    std::vector<std::pair<std::size_t, FiredAt>> fired;
    auto const lose = [&](std::size_t number, auto how) {
        lost.insert(number);
        fired.emplace_back(number, FiredAt{held[number].token()});
        how(number);
    };
    auto const evict = [&](std::size_t number) {
        auto const range = named_key(key(number));
        auto const [error, states] = soon(other.store().async_inspect(range, as_future));
        REQUIRE_FALSE(error);
        auto const [refused, evicted] = soon(other.store().async_evict(states.at(0), "operator", as_future));
        REQUIRE_FALSE(refused);
    };
    auto const remove = [&](std::size_t number) { REQUIRE(person.remove(path(number))); };
    auto const take = [&](std::size_t number) {
        REQUIRE(person.remove(path(number)));
        REQUIRE(person.create(path(number), "another\n", true));
    };
    SECTION("while its watch is set")
    {
        for (std::size_t i = 0; i < 30; i += 3) {
            lose(i, evict);
            lose(i + 1, remove);
            lose(i + 2, take);
        }
    }
    SECTION("while the connection is lost")
    {
        proxy.refuse(true);
        proxy.reset_connections();
        for (std::size_t i = 0; i < 30; i += 3) {
            lose(i, evict);
            lose(i + 1, remove);
            lose(i + 2, take);
        }
        proxy.refuse(false);
    }
    auto const began = nanoseconds(Clock::now());
    for (auto& [number, told] : fired) {
        CAPTURE(number);
        auto const at = told.wait(renewal_interval + 1s);
        REQUIRE(at);
        CHECK(*at - began < std::chrono::nanoseconds(renewal_interval + 500ms).count());
        CHECK(held[number].token().reason() == CancelReason::not_owner);
    }
    // the thieves keep what they took, and no other lease was lost
    CHECK(person.get(path(2)).value().data == "another\n");
    auto const last = held.back().valid_until();
    REQUIRE(eventually([&] { return held.back().valid_until() > last + renewal_interval; }, 10s));
    for (std::size_t i = 0; i < count; ++i)
        if (!lost.contains(i) && held[i].token().cancelled())
            FAIL("lease " << i << " was lost: " << describe(held[i].token().reason()));
}

TEST_CASE_METHOD(ZookeeperTest, "the renewals of a thousand leases cost a server a few writes", "[zookeeper][many]")
{
    RunningStore store{server.url()};
    auto const held = acquire_all(store, 1000);
    auto const valid = held.back().valid_until();
    // each node was read
    REQUIRE(eventually([&] { return held.back().valid_until() > valid + renewal_interval; }, 10s));
    auto const before = received_by(server);
    auto const later = held.back().valid_until();
    REQUIRE(eventually([&] { return held.back().valid_until() > later + lasting; }, 10s));
    CHECK(received_by(server) - before < 300);
}

TEST_CASE("more watches than one request may name are set again on the next connection", "[zookeeper][many]")
{
    require_zookeeper();
    ZookeeperServer server{{.java = {"-Djute.maxbuffer=65536"}}};
    FaultProxy proxy{server.port()};
    LiveBackend client{[&](std::shared_ptr<Runtime> runtime) {
        auto config = zookeeper::config_from(parse_url(server.url()));
        config.servers[0].port = proxy.port();
        config.jute_maxbuffer = 65'536;
        return zookeeper::make_backend(std::move(runtime), config);
    }};
    constexpr std::size_t count = 400;
    std::vector<std::unique_ptr<Watch>> watches;
    std::size_t in_force = 0;
    client.on_strand([&] {
        for (std::size_t i = 0; i < count; ++i)
            watches.push_back(client.backend().watch(
                named_key(key(i) + std::string(300, 'x')), WatchAs::waiter,
                [&in_force](WatchEvent event) { in_force += event == WatchEvent::in_force ? 1 : 0; }));
    });
    client.run_until([&] { return in_force == count; }, 10s);
    proxy.reset_connections();
    client.run_until([&] { return in_force == 2 * count; }, 10s);
    client.on_strand([&] { watches.clear(); });
    CHECK(server.log().find("Len error") == std::string::npos);
}

TEST_CASE("a server starts again after the end of a process with many leases of long names", "[zookeeper][many]")
{
    require_zookeeper();
    ZookeeperServer server{{.java = {"-Xmx512m"}}};
    ScratchDirectory directory;
    auto const output = directory.file("holder");
    ChildProcess holder{
        {.arguments = {test_program("many_holder"), server.url(), "20000", "300", "10000"}, .output = output}};
    REQUIRE(eventually([&] { return text_of(output).find("held") != std::string::npos || !holder.running(); }, 60s));
    CHECK(text_of(output) == "held\n");
    // each of them was renewed
    CHECK_FALSE(holder.wait_for(12s));
    CHECK(text_of(output) == "held\n");
    holder.kill();
    ZookeeperClient person{server.port()};
    auto const last = "/many19999:" + std::string(300 - 10, 'x') + "/lock";
    REQUIRE(person.get(last));
    REQUIRE(eventually([&] { return !person.get(last); }, 30s, 200ms));
    REQUIRE(eventually(
        [&] { return zookeeper_word(server.port(), "mntr").find("zk_ephemerals_count\t0") != std::string::npos; }, 30s,
        200ms));
    server.kill();
    server.start();
    server.wait_until_serving();
    CHECK(server.log().find("Unreasonable length") == std::string::npos);
}
