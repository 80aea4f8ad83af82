// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A hash slot whose move was begun and never ended: what people are told, and what still works.
#include "system/support/running_store.hpp"
#include "system/support/tool_process.hpp"

#include "harness/redis_cluster.hpp"

#include <tenure/features.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace tenure::test
{

using Catch::Matchers::ContainsSubstring;

namespace
{

/** A cluster with a pool of six spread keys, of which the last is in a slot that its master is about to give away. */
struct OpenSlotScene {
    OpenSlotScene() { cluster.server(from).client().call("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.id(to)); }
    void close_slot() { cluster.server(from).client().call("CLUSTER", "SETSLOT", slot, "STABLE"); }

    RedisCluster cluster{{.replicas = 0}};
    RunningStore running{cluster.url()};
    SlotPool pool{running.store(), {.prefix = "ids:", .size = 6, .ttl = 3s}};
    Slot held = RunningStore::acquire(pool);
    std::uint16_t slot = cluster.slot_of("ids:5");
    std::size_t from = cluster.owner_of("ids:5");
    std::size_t to = (from + 1) % RedisCluster::masters;
};

Finding about_slots(Findings const& findings, std::string const& master)
{
    auto const found = std::ranges::find_if(findings, [&](Finding const& finding) {
        return finding.subject == "hash slots" && finding.observed.starts_with(master);
    });
    REQUIRE(found != findings.end());
    return *found;
}

} // namespace

TEST_CASE("doctor names an open hash slot and the command that closes it", "[cluster]")
{
    require_redis();
    OpenSlotScene scene;
    auto const master = "127.0.0.1:" + std::to_string(scene.cluster.port(scene.from));
    auto const [error, findings] = soon(scene.running.store().async_examine(3s, as_future));
    CHECK_FALSE(error);
    auto const finding = about_slots(findings, master);
    CHECK(finding.severity == Finding::Severity::error);
    CHECK_THAT(
        finding.observed, ContainsSubstring(
                              "open: " + std::to_string(scene.slot) +
                              " (migrating to 127.0.0.1:" + std::to_string(scene.cluster.port(scene.to)) + ")"));
    CHECK_THAT(finding.advice, ContainsSubstring("CLUSTER SETSLOT " + std::to_string(scene.slot) + " STABLE"));
    // a new claim on the key of that slot is refused, and says so
    CHECK(RunningStore::acquire_error(scene.running.lock("ids:5", 3s), {.wait = 1s}) == errc::store_refused);
    CHECK_THAT(
        scene.running.store().diagnostics().last_detail,
        ContainsSubstring("hash slot " + std::to_string(scene.slot) + " is being moved"));

    scene.close_slot();
    auto const [again, healed] = soon(scene.running.store().async_examine(3s, as_future));
    CHECK_FALSE(again);
    CHECK(about_slots(healed, master).severity == Finding::Severity::ok);
    CHECK(RunningStore::acquire_error(scene.running.lock("ids:5", 3s), {.wait = 5s}) == error_code{});
}

TEST_CASE("a key in an open hash slot hides no other key from status", "[cluster]")
{
    require_redis();
    OpenSlotScene scene;
    std::vector<std::string> const command{"status", "--pool", "ids:", "--size", "6"};
    ToolProcess status{command, scene.cluster.url()};
    CHECK(status.exit_code() == 69);
    CHECK_THAT(status.output(), ContainsSubstring("1 of 6 held, 1 unknown"));
    CHECK_THAT(status.output(), ContainsSubstring("5: unknown: "));
    CHECK_THAT(status.output(), ContainsSubstring("hash slot " + std::to_string(scene.slot)));

    scene.close_slot();
    ToolProcess healed{command, scene.cluster.url()};
    CHECK(healed.exit_code() == 0);
    CHECK_THAT(healed.output(), ContainsSubstring("1 of 6 held"));
}

TEST_CASE("a key in an open hash slot hides no other key from the exporter", "[cluster]")
{
    require_redis();
    OpenSlotScene scene;
    auto const port = std::to_string(free_port());
    ToolProcess exporter{
        {"exporter", "--pool", "ids:", "--size", "6", "--metrics", "127.0.0.1:" + port}, scene.cluster.url()};
    REQUIRE(exporter.says("serving"));
    boost::asio::ip::tcp::iostream stream;
    stream.expires_after(10s);
    stream.connect("127.0.0.1", port);
    stream << "GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n" << std::flush;
    std::string const page{std::istreambuf_iterator<char>(stream), {}};
    CHECK_THAT(page, ContainsSubstring("tenure_store_up{store=\"" + scene.cluster.url() + "\"} 1"));
    CHECK_THAT(page, ContainsSubstring("state=\"held\"} 1\n"));
    CHECK_THAT(page, ContainsSubstring("state=\"free\"} 4\n"));
    CHECK_THAT(page, ContainsSubstring("state=\"unknown\"} 1\n"));
}

} // namespace tenure::test
