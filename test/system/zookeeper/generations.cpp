// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One ZooKeeper server: a release is one request and never affects the node of a later holder, because every claim
// changes the key's generation.
#include "harness/eventually.hpp"
#include "harness/zookeeper_client.hpp"
#include "system/support/running_store.hpp"
#include "system/zookeeper/zookeeper_line.hpp"

#include "store/zookeeper/znodes.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

/// long enough for no renewal, and no expiry, to come in between
constexpr auto long_ttl = 10s;

/// a name whose length distinguishes its messages from all others
[[nodiscard]] KeyRangePtr long_key(std::string const& name)
{
    return named_key(name + ":" + std::string(400, 'x'));
}

[[nodiscard]] std::string path_of(KeyRangePtr const& range)
{
    return "/" + range->prefix + "/lock";
}

[[nodiscard]] std::string generation_of(KeyRangePtr const& range)
{
    return zookeeper::generation_path({}, {}, range->prefix);
}

/** Another key with the generation of this one. */
[[nodiscard]] KeyRangePtr neighbour_of(KeyRangePtr const& range)
{
    for (int i = 0;; ++i)
        if (auto other = named_key("neighbour-" + std::to_string(i) + ":");
            generation_of(other) == generation_of(range))
            return other;
}

/** A store behind a proxy, and a person at another client. */
struct OneStore {
    ZookeeperLine line{shared_zookeeper(), long_ttl};
    ZookeeperClient person{shared_zookeeper().port()};
};

struct TwoStores : OneStore {
    ZookeeperLine other{shared_zookeeper(), long_ttl};
};

/** A release that was asked for, and its answer. */
struct Release {
    Release(ZookeeperLine& of, ClaimPtr const& claim)
        : line(of)
    {
        line.client.on_strand([&] {
            line.client.backend().release({claim, line.client.now() + 10s, true}, [reply = reply](ReleaseReply answer) {
                *reply = std::move(answer);
            });
        });
    }
    [[nodiscard]] ReleaseReply wait() const
    {
        line.client.run_until([this] { return reply->has_value(); });
        return **reply;
    }
    ZookeeperLine& line;
    /// shared with a handler that may come later than the end of a test that failed
    std::shared_ptr<std::optional<ReleaseReply>> reply = std::make_shared<std::optional<ReleaseReply>>();
};

} // namespace

TEST_CASE_METHOD(OneStore, "a release is one request: it needs no answer to take effect", "[zookeeper][generations]")
{
    auto const range = named_key("one-request:");
    auto const claim = line.take(range, owner(1));
    CHECK(claim->fencing_token == static_cast<std::uint64_t>(person.get(path_of(range)).value().czxid));
    line.hold(Direction::replies);
    Release release{line, claim};
    line.client.run_until([&] { return !person.get(path_of(range)); });
    CHECK_FALSE(*release.reply);
    line.proxy.heal();
    expect<Released>(release.wait());
}

TEST_CASE_METHOD(
    TwoStores, "the next holder keeps the key after the node was deleted by hand", "[zookeeper][generations]")
{
    auto const range = long_key("deleted-by-hand");
    auto const claim = line.take(range, owner(1));
    auto const change_hands = [&] {
        REQUIRE(person.remove(path_of(range)));
        return other.take(range, owner(2));
    };
    ClaimPtr second;
    SECTION("before the release")
    {
        second = change_hands();
        expect<NotOwner>(line.client.release(claim));
    }
    SECTION("between the look and the deletion of a release that has to look")
    {
        auto const neighbour = other.take(neighbour_of(range), owner(3));
        line.hold(Direction::replies);
        Release release{line, claim};
        // that it failed, because of the neighbour, is on its way
        line.client.run_until(
            [&] { return line.proxy.passed(Direction::requests) > 0 && line.kept(Direction::replies) > 0; });
        auto const before = line.proxy.received(Direction::requests);
        line.hold(Direction::requests);
        line.pass(Direction::replies);
        line.client.run_until([&] { return line.kept(Direction::requests) > range->prefix.size(); });
        CHECK(line.proxy.received(Direction::requests) > before);
        line.hold(Direction::replies);
        auto const answered = line.proxy.received(Direction::replies);
        line.pass(Direction::requests);
        // the answers about both are on their way, and the node is as it was
        line.client.run_until([&] { return line.proxy.received(Direction::replies) - answered > 200; });
        second = change_hands();
        line.proxy.heal();
        expect<NotOwner>(release.wait());
    }
    // a section that failed is left without one
    REQUIRE(second);
    auto const node = person.get(path_of(range));
    REQUIRE(node);
    CHECK(static_cast<std::uint64_t>(node->czxid) == second->fencing_token);
    expect<Renewed>(other.client.renew(second, long_ttl));
    expect<Released>(other.client.release(second));
}

TEST_CASE_METHOD(OneStore, "a node that was created by hand, without a generation, stays", "[zookeeper][generations]")
{
    auto const range = named_key("made-by-hand:");
    auto const claim = line.take(range, owner(1));
    REQUIRE(person.remove(path_of(range)));
    REQUIRE(person.create(path_of(range), "a thief\n", true));
    expect<NotOwner>(line.client.release(claim));
    CHECK(person.get(path_of(range)).value().data == "a thief\n");
}

TEST_CASE_METHOD(
    OneStore, "keys of one generation are claimed and released beside each other", "[zookeeper][generations]")
{
    auto const range = named_key("beside:");
    auto const neighbour = neighbour_of(range);
    for (int round = 0; round < 3; ++round) {
        auto const first = line.take(range, owner(1));
        auto const second = line.take(neighbour, owner(2));
        expect<Released>(line.client.release(first));
        CHECK_FALSE(person.get(path_of(range)));
        CHECK(person.get(path_of(neighbour)));
        expect<Released>(line.client.release(second));
        CHECK_FALSE(person.get(path_of(neighbour)));
    }
}

TEST_CASE("a lease is released while keys of its generation are claimed without a pause", "[zookeeper][generations]")
{
    ZookeeperLine line(shared_zookeeper(), long_ttl);
    auto const range = named_key("beside-a-busy-one:");
    // each answer comes later than the next claim
    line.proxy.set(Direction::replies, {.delay = 20ms});
    auto const claim = line.take(range, owner(1));
    std::atomic<bool> stop = false;
    std::atomic<int> written = 0;
    std::thread busy{[&, path = generation_of(range)] {
        ZookeeperClient others{shared_zookeeper().port()};
        while (!stop)
            written += others.set(path, {}) ? 1 : 0;
    }};
    REQUIRE(eventually([&] { return written > 10; }, 5s));
    auto const reply = line.client.release(claim);
    stop = true;
    busy.join();
    expect<Released>(reply);
    CHECK_FALSE(ZookeeperClient{shared_zookeeper().port()}.get(path_of(range)));
}

TEST_CASE_METHOD(TwoStores, "a node that changed hands during an eviction is not marked", "[zookeeper][generations]")
{
    auto const range = long_key("evicted-too-late");
    auto const claim = line.take(range, owner(1));
    auto const reply = std::make_shared<std::optional<EvictReply>>();
    line.hold(Direction::replies);
    auto const answered = line.proxy.received(Direction::replies);
    line.client.on_strand([&] {
        line.client.backend().evict(
            {range, 0, owner(1), "somebody", line.client.now() + 10s},
            [reply](EvictReply answer) { *reply = std::move(answer); });
    });
    // the session that looks is a new one
    line.client.run_for(100ms);
    line.pass(Direction::replies);
    line.client.run_until([&] { return line.proxy.passed(Direction::replies) > answered; });
    line.proxy.set_when(Direction::replies, owner(1), Direction::replies, {.kind = Fault::Kind::hold});
    line.client.run_until([&] { return line.kept(Direction::replies) > 0 || *reply; });
    REQUIRE_FALSE(*reply);
    REQUIRE(person.remove(path_of(range)));
    auto const second = other.take(range, owner(2));
    line.proxy.heal();
    line.client.run_until([&] { return reply->has_value(); });
    expect<NotOwner>(**reply);
    CHECK_THAT(person.get(path_of(range)).value().data, ContainsSubstring(owner(2)));
    expect<Renewed>(other.client.renew(second, long_ttl));
    expect<Evicted>(other.client.evict(range, 0, owner(2)));
    CHECK_THAT(person.get(path_of(range)).value().data, ContainsSubstring("evicted/"));
    expect<NotOwner>(other.client.release(second));
}

TEST_CASE(
    "a generation is made when it is first needed, and again when somebody deleted it", "[zookeeper][generations]")
{
    auto const url = shared_zookeeper().url();
    auto const below = [&](std::string const& login, std::string const& chroot) {
        return "zookeeper://" + login + url.substr(12, url.find('?') - 12) + chroot + url.substr(url.find('?'));
    };
    auto const released = [](RunningStore& store, std::string const& key) {
        auto lease = RunningStore::acquire(store.lock(key, 2s));
        return RunningStore::release(lease);
    };
    SECTION("without a login")
    {
        ZookeeperClient person{shared_zookeeper().port()};
        auto const path = zookeeper::generation_path("/made/anew", {}, "k");
        RunningStore store{below({}, "/made/anew")};
        CHECK(released(store, "k") == ReleaseOutcome::released);
        CHECK(person.get(path).value().version == 1);
        CHECK(released(store, "k") == ReleaseOutcome::released);
        CHECK(person.get(path).value().version == 2);
        CHECK(person.get(path).value().ephemeral_owner == 0);
        auto lease = RunningStore::acquire(store.lock("k", 2s));
        REQUIRE(person.remove(path));
        CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
        CHECK_FALSE(person.get("/made/anew/k/lock"));
        CHECK(released(store, "k") == ReleaseOutcome::released);
        CHECK(person.get(path).value().version == 1);
    }
    SECTION("with a login it belongs to it alone")
    {
        ZookeeperClient stranger{shared_zookeeper().port()};
        ZookeeperClient person{shared_zookeeper().port(), "w/1:secret"};
        auto const path = zookeeper::generation_path("/made/of", "w/1", "k");
        RunningStore store{below("w%2F1:secret@", "/made/of")};
        CHECK(released(store, "k") == ReleaseOutcome::released);
        CHECK(path.starts_with("/made/of/%g:w%2F1/"));
        CHECK(person.get(path).value().version == 1);
        CHECK_THROWS_WITH(stranger.get(path), ContainsSubstring("-102"));
    }
}

TEST_CASE("a generation that may not be written to is named by the error and by the doctor", "[zookeeper][generations]")
{
    ZookeeperClient person{shared_zookeeper().port()};
    person.create_all("/guarded");
    auto const url = shared_zookeeper().url();
    auto const host = url.substr(12, url.find('?') - 12);
    auto const options = url.substr(url.find('?'));
    {
        // the chroot is this login's, and the key belongs to it from now on
        RunningStore other{"zookeeper://other:secret@" + host + "/guarded/%25g" + options};
        auto lease = RunningStore::acquire(other.lock("k", 2s));
        REQUIRE(RunningStore::release(lease) == ReleaseOutcome::released);
    }
    RunningStore store{"zookeeper://" + host + "/guarded" + options};
    CHECK(RunningStore::acquire_error(store.lock("k", 2s), {.wait = 5s}) == errc::permission_denied);
    auto const path = zookeeper::generation_path("/guarded", {}, "k");
    CHECK_THAT(
        store.store().diagnostics().last_detail,
        ContainsSubstring("k: its generation, " + path + ": NOAUTH: ") && ContainsSubstring("without a login"));
    CHECK_FALSE(person.get("/guarded/k/lock"));
    auto const [error, findings] = soon(store.store().async_examine(2s, as_future));
    CHECK_FALSE(error);
    bool found = false;
    for (auto const& finding : findings)
        if (finding.subject == "permissions") {
            found = true;
            CHECK(finding.severity == Finding::Severity::error);
            CHECK_THAT(finding.observed, ContainsSubstring("the generation /guarded/%g/"));
        }
    CHECK(found);
}
