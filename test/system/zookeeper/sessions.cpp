// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One ZooKeeper server: leases and messages when a session ends, when the server is unavailable, and when it refuses
// the login.
#include "harness/eventually.hpp"
#include "harness/zookeeper_client.hpp"
#include "system/support/running_store.hpp"
#include "system/zookeeper/zookeeper_line.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::test;
using Catch::Matchers::ContainsSubstring;

namespace
{

/// ten ticks of the servers here
constexpr auto session_ttl = 1000ms;

[[nodiscard]] std::string through(FaultProxy const& proxy)
{
    auto url = shared_zookeeper().url();
    auto const port = std::to_string(shared_zookeeper().port());
    return url.replace(url.find(port), port.size(), std::to_string(proxy.port()));
}

/** The parent of a lock's node, gone with what is below it. */
void remove_tree(ZookeeperClient& person, std::string const& path)
{
    for (auto const& child : person.children(path))
        person.remove(path + "/" + child);
    person.remove(path);
}

} // namespace

TEST_CASE("a session that has expired is a proven loss of its leases, and the next claim opens another", "[zookeeper]")
{
    ZookeeperLine line(shared_zookeeper(), session_ttl);
    ZookeeperClient person{shared_zookeeper().port()};
    auto const range = named_key("expiry:a");
    auto const claim = line.take(range, owner(1));
    auto const before = person.get("/expiry:a/lock");
    REQUIRE(before);
    line.proxy.refuse(true);
    line.proxy.reset_connections();
    // the renewal reports no result while the outcome is unknown
    line.client.run_until([&] { return !std::holds_alternative<Renewed>(line.client.renew(claim, session_ttl)); });
    expect_not_sent(line.client.renew(claim, session_ttl));
    REQUIRE(eventually([&] { return !person.get("/expiry:a/lock"); }, 5s));
    expect_not_sent(line.client.renew(claim, session_ttl));
    line.proxy.refuse(false);
    line.client.run_until([&] { return std::holds_alternative<NotOwner>(line.client.renew(claim, session_ttl)); });
    auto const again = expect<Granted>(line.claim(range, owner(2)));
    CHECK(again.fencing_token > claim->fencing_token);
    expect<NotOwner>(line.client.release(claim));
    auto const after = person.get("/expiry:a/lock");
    REQUIRE(after);
    CHECK(after->ephemeral_owner != before->ephemeral_owner);
}

TEST_CASE("a lease outlives connections that break, and its validity does not grow meanwhile", "[zookeeper]")
{
    FaultProxy proxy{shared_zookeeper().port()};
    RunningStore store{through(proxy)};
    auto lease = RunningStore::acquire(store.lock("breaks", session_ttl));
    auto const end = lease.valid_until() + 4 * session_ttl;
    int breaks = 0;
    while (Clock::now() < end) {
        proxy.reset_connections();
        ++breaks;
        auto const valid = lease.valid_until();
        REQUIRE(eventually([&] { return lease.valid_until() > valid; }, 2s));
        CHECK(lease.valid_until() < Clock::now() + session_ttl);
    }
    CHECK(breaks >= 3);
    CHECK_FALSE(lease.token().cancelled());
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE(
    "a server that is away for less than the validity costs nothing, and for longer the token fires in time",
    "[zookeeper]")
{
    RunningStore store{shared_zookeeper().url()};
    auto lease = RunningStore::acquire(store.lock("pauses", 3s));
    shared_zookeeper().pause();
    CHECK_FALSE(FiredAt{lease.token()}.wait(700ms));
    shared_zookeeper().resume();
    auto const valid = lease.valid_until();
    REQUIRE(eventually([&] { return lease.valid_until() > valid + 1s; }, 5s));
    FiredAt fired{lease.token()};
    shared_zookeeper().pause();
    auto const at = fired.wait(5s);
    shared_zookeeper().resume();
    REQUIRE(at);
    CHECK(*at < nanoseconds(lease.valid_until()));
    CHECK(lease.token().reason() == CancelReason::expired);
}

TEST_CASE("a deleted or replaced node is a loss, and the token is cancelled at once", "[zookeeper]")
{
    RunningStore store{shared_zookeeper().url()};
    ZookeeperClient person{shared_zookeeper().port()};
    auto deleted = RunningStore::acquire(store.lock("deleted", 3s));
    auto replaced = RunningStore::acquire(store.lock("replaced", 3s));
    FiredAt told_deleted{deleted.token()};
    FiredAt told_replaced{replaced.token()};
    REQUIRE(person.remove("/deleted/lock"));
    REQUIRE(person.set("/replaced/lock", "a thief\n"));
    // at the next renewal
    REQUIRE(told_deleted.wait(2s));
    REQUIRE(told_replaced.wait(2s));
    CHECK(deleted.token().reason() == CancelReason::not_owner);
    CHECK(replaced.token().reason() == CancelReason::not_owner);
    CHECK(RunningStore::release(deleted) == ReleaseOutcome::was_lost);
    CHECK(RunningStore::release(replaced) == ReleaseOutcome::was_lost);
    CHECK(person.get("/replaced/lock").value().data == "a thief\n");
    // and it is the process that made the node which removes it, when the old validity is over
    CHECK(eventually([&] { return !person.get("/replaced/lock"); }, 6s));
}

// A deletion without the generation could not distinguish the node of the next holder.
TEST_CASE("releases of one lease that were asked for more than once delete one node", "[zookeeper]")
{
    ZookeeperLine line(shared_zookeeper(), session_ttl);
    ZookeeperClient person{shared_zookeeper().port()};
    auto const range = named_key("twice:" + std::string(400, 'x'));
    auto const path = "/" + range->prefix + "/lock";
    auto const claim = line.take(range, owner(1), 6s);
    auto const passed = [&] { return line.proxy.passed(Direction::requests); };
    line.proxy.set(Direction::replies, {.kind = Fault::Kind::hold});
    auto const before = passed();
    std::vector<ReleaseReply> replies;
    line.client.on_strand([&] {
        for (int i = 0; i < 2; ++i)
            line.client.backend().release({claim, line.client.now() + 10s, true}, [&replies](ReleaseReply reply) {
                replies.push_back(std::move(reply));
            });
    });
    line.client.run_until([&] { return passed() - before > path.size(); });
    line.client.run_for(100ms);
    CHECK(passed() - before < 2 * path.size());
    line.proxy.heal();
    line.client.run_until([&] { return replies.size() == 2; });
    expect<Released>(replies[0]);
    expect<NotOwner>(replies[1]);
    CHECK_FALSE(person.get(path));
}

TEST_CASE(
    "a claim that was asked for more than once is one lease, and does not lapse while it is renewed", "[zookeeper]")
{
    constexpr auto lasting = 6s;
    ZookeeperLine line(shared_zookeeper(), session_ttl);
    ZookeeperClient person{shared_zookeeper().port()};
    auto const range = named_key("asked-again:" + std::string(400, 'x'));
    auto const path = "/" + range->prefix + "/lock";
    person.create_all("/" + range->prefix);
    REQUIRE(person.create(path, std::string(400, 'y'), true));
    auto const passed = [&] { return line.proxy.passed(Direction::requests); };
    auto const kept = [&](Direction direction) {
        return line.proxy.received(direction) - line.proxy.passed(direction);
    };
    auto const only = [&](Direction direction) {
        line.proxy.set(
            direction == Direction::requests ? Direction::replies : Direction::requests, {.kind = Fault::Kind::hold});
        line.proxy.set(direction, {});
    };
    // the session is there
    expect<Busy>(line.claim(range, owner(2), lasting));
    std::vector<ClaimReply> replies;
    only(Direction::requests);
    auto const before = passed();
    line.client.on_strand([&] {
        for (int i = 0; i < 3; ++i) {
            ClaimRequest request{range, owner(1), lasting, line.client.now() + 10s, true, std::nullopt};
            if (i > 0)
                request.earliest_attempt = line.client.now();
            line.client.backend().claim(
                std::move(request), [&replies](ClaimReply reply) { replies.push_back(std::move(reply)); });
        }
    });
    // all three find the key taken, and read its owner
    line.client.run_until([&] { return passed() - before > 3 * path.size(); });
    only(Direction::replies);
    line.client.run_until([&] { return kept(Direction::requests) > 3 * path.size(); });
    only(Direction::requests);
    line.client.run_until([&] { return kept(Direction::replies) > std::size_t{3} * 400; });
    only(Direction::replies);
    // two of them try again, and now it is free
    line.client.run_until([&] { return kept(Direction::requests) > 2 * path.size(); });
    REQUIRE(person.remove(path));
    line.proxy.heal();
    line.client.run_until([&] { return replies.size() == 3; });
    auto const first = expect<Granted>(replies[1]);
    auto const second = expect<Granted>(replies[2]);
    CHECK(first.fencing_token == second.fencing_token);
    auto claim = std::make_shared<Claim>();
    claim->range = range;
    claim->owner = owner(1);
    claim->handle = second.handle;
    for (auto const end = line.client.now() + lasting + 1s; line.client.now() < end;) {
        expect<Renewed>(line.client.renew(claim, lasting));
        line.client.run_for(200ms);
    }
    claim->handle = first.handle;
    expect<Renewed>(line.client.renew(claim, lasting));
    expect<Released>(line.client.release(claim));
    CHECK_FALSE(person.get(path));
}

TEST_CASE("a node that its claim finds late does not count as expired", "[zookeeper]")
{
    constexpr auto lasting = 3s;
    constexpr auto delay = 300ms;
    ZookeeperLine line(shared_zookeeper(), session_ttl);
    ZookeeperClient person{shared_zookeeper().port()};
    auto const range = named_key("found-at-last:");
    // the session is there, and all that the node needs
    expect<Released>(line.client.release(line.take(range, owner(2), lasting)));
    line.proxy.set(Direction::replies, {.kind = Fault::Kind::hold});
    auto const began = line.client.now();
    std::optional<ClaimReply> first;
    line.client.on_strand([&] {
        line.client.backend().claim(
            {range, owner(1), lasting, began + 10s, true, std::nullopt},
            [&first](ClaimReply reply) { first = std::move(reply); });
    });
    line.client.run_until([&] { return person.get("/found-at-last:/lock").has_value(); });
    line.proxy.reset_connections();
    line.client.run_until([&] { return first.has_value(); });
    expect_unknown(*first);
    line.proxy.set(Direction::replies, {.delay = delay});
    // the ttl of the first attempt ends between the two answers that the second one needs
    line.client.run_until([&] { return line.client.now() >= began + lasting - delay * 3 / 2; });
    auto const granted =
        expect<Granted>(line.client.claim({range, owner(1), lasting, line.client.now() + 10s, true, began}));
    line.proxy.heal();
    line.client.run_for(1s);
    auto const node = person.get("/found-at-last:/lock");
    REQUIRE(node);
    CHECK(static_cast<std::uint64_t>(node->czxid) == granted.fencing_token);
    auto claim = std::make_shared<Claim>();
    claim->range = range;
    claim->owner = owner(1);
    claim->handle = granted.handle;
    expect<Renewed>(line.client.renew(claim, lasting));
    expect<Released>(line.client.release(claim));
}

TEST_CASE("a node without renewals expires however late the server answers", "[zookeeper]")
{
    constexpr auto lasting = 2s;
    ZookeeperLine line(shared_zookeeper(), session_ttl);
    ZookeeperClient person{shared_zookeeper().port()};
    auto const claim = line.take(named_key("late-answers:"), owner(1), lasting);
    // longer than the pause between two looks
    line.proxy.set(Direction::replies, {.delay = 350ms});
    line.client.run_until([&] { return !person.get("/late-answers:/lock"); }, lasting + 5s);
}

TEST_CASE("leases of different ttls are in sessions of their own, and those of one ttl share theirs", "[zookeeper]")
{
    RunningStore store{shared_zookeeper().url()};
    ZookeeperClient person{shared_zookeeper().port()};
    auto const first = RunningStore::acquire(store.lock("share1:", 2s));
    auto const second = RunningStore::acquire(store.lock("share2:", 2s));
    auto const third = RunningStore::acquire(store.lock("share3:", 4s));
    auto const session = [&](std::string const& path) { return person.get(path).value().ephemeral_owner; };
    CHECK(session("/share1:/lock") == session("/share2:/lock"));
    CHECK(session("/share1:/lock") != session("/share3:/lock"));
}

TEST_CASE("a waiter takes over as soon as a key is released, also after its parent was removed", "[zookeeper]")
{
    FaultProxy proxy{shared_zookeeper().port()};
    RunningStore store{shared_zookeeper().url()};
    RunningStore other{through(proxy)};
    ZookeeperClient person{shared_zookeeper().port()};
    auto lease = RunningStore::acquire(store.lock("handover", 10s));
    auto const waiter = other.lock("handover", 10s);
    auto waiting = waiter.async_acquire({.wait = 20s}, as_future);
    REQUIRE(waiting.wait_for(1s) == std::future_status::timeout);
    SECTION("by a release")
    {
        REQUIRE(RunningStore::release(lease) == ReleaseOutcome::released);
    }
    SECTION("by a client that removed everything")
    {
        // else the waiter would be back before the parent is gone
        proxy.set(Direction::requests, {Fault::Kind::hold});
        remove_tree(person, "/handover");
        proxy.heal();
    }
    REQUIRE(waiting.wait_for(2s) == std::future_status::ready);
    auto [error, taken] = waiting.get();
    CHECK_FALSE(error);
    CHECK(person.get("/handover/lock"));
}

TEST_CASE(
    "a key that nobody waits for any more is not watched, whether it is held or was never taken again", "[zookeeper]")
{
    ZookeeperLine line(shared_zookeeper(), session_ttl);
    auto const range = named_key("watched-once:");
    auto const watched = [] {
        return zookeeper_word(shared_zookeeper().port(), "wchp").find("/watched-once:/lock\n") != std::string::npos;
    };
    auto const claim = line.take(range, owner(1), 6s);
    std::vector<WatchEvent> events;
    std::unique_ptr<Watch> watch;
    line.client.on_strand([&] {
        watch = line.client.backend().watch(
            range, WatchAs::waiter, [&events](WatchEvent event) { events.push_back(event); });
    });
    line.client.run_until([&] { return std::ranges::count(events, WatchEvent::in_force) == 1; });
    CHECK(watched());
    SECTION("held")
    {
        line.client.on_strand([&] { watch = nullptr; });
        line.client.run_until([&] { return !watched(); }, 2s);
        expect<Released>(line.client.release(claim));
    }
    SECTION("free")
    {
        expect<Released>(line.client.release(claim));
        // the first tells that it was deleted, the second that it is not there when it is to be watched again
        line.client.run_until([&] { return std::ranges::count(events, WatchEvent::hint) == 2; });
        CHECK(watched());
        line.client.on_strand([&] { watch = nullptr; });
    }
    SECTION("free, and the watch was just being set again")
    {
        expect<Released>(line.client.release(claim));
        line.client.run_until([&] { return std::ranges::count(events, WatchEvent::hint) == 1; });
        line.proxy.set(Direction::replies, {.kind = Fault::Kind::hold});
        line.client.run_for(20ms);
        line.client.on_strand([&] { watch = nullptr; });
        line.proxy.heal();
    }
    line.client.run_until([&] { return !watched(); }, 2s);
}

TEST_CASE("a throwing handler does not prevent other answers of the same read", "[zookeeper]")
{
    ZookeeperLine line(shared_zookeeper(), session_ttl);
    expect<Released>(line.client.release(line.take(named_key("throws:"), owner(1))));
    std::vector<ClaimReply> replies;
    line.proxy.set(Direction::replies, {.kind = Fault::Kind::hold});
    line.client.on_strand([&] {
        for (unsigned i = 0; i < 3; ++i)
            line.client.backend().claim(
                {named_key("throws:"), owner(i), session_ttl, line.client.now() + 10s, true, std::nullopt},
                [&replies, i](ClaimReply reply) {
                    if (i == 0)
                        throw std::runtime_error("from a handler");
                    replies.push_back(std::move(reply));
                });
    });
    line.client.run_for(100ms);
    line.proxy.heal();
    CHECK_THROWS_WITH(line.client.run_until([&] { return !replies.empty(); }), "from a handler");
    CHECK(replies.empty());
    line.client.run_until([&] { return replies.size() == 2; }, 5s);
    for (auto const& reply : replies)
        expect<Busy>(reply);
}

TEST_CASE("keys of all kinds become nodes below the chroot", "[zookeeper]")
{
    auto const url = shared_zookeeper().url();
    RunningStore store{url.substr(0, url.find('?')) + "/deep/chroot" + url.substr(url.find('?'))};
    ZookeeperClient person{shared_zookeeper().port()};
    auto const odd = RunningStore::acquire(store.lock("a/b c%\xc3\xa4", session_ttl));
    auto const number = RunningStore::acquire(store.lock("42", session_ttl));
    CHECK(person.get("/deep/chroot/a%2Fb%20c%25%C3%A4/lock"));
    CHECK(person.get("/deep/chroot/%/42"));
    CHECK(person.get("/deep/chroot").value().ephemeral_owner == 0);
}

TEST_CASE("a ttl beyond the limits is refused at once, and a ttl that the server changes is reported", "[zookeeper]")
{
    {
        RunningStore store{shared_zookeeper().url()};
        CHECK_THROWS_WITH(store.lock("long", 2min), ContainsSubstring("this store allows 200 ms to 60000 ms"));
        CHECK_THROWS_WITH(store.lock("short", 150ms), ContainsSubstring("this store allows 200 ms to 60000 ms"));
    }
    auto url = shared_zookeeper().url();
    url.replace(url.find("longest_ttl=60000"), 17, "longest_ttl=90000");
    RunningStore store{url};
    auto const lease = RunningStore::acquire(store.lock("clamped", 80s));
    CHECK(lease.valid_until() - Clock::now() < 60s);
    CHECK(lease.valid_until() - Clock::now() > 50s);
    CHECK_THAT(store.log(), ContainsSubstring("asked for a ttl of 80000 ms, and the server grants 60000 ms"));
}

TEST_CASE("nodes belong to their login alone; another login gets the missing permission", "[zookeeper]")
{
    auto url = shared_zookeeper().url();
    auto const with_login = [&](std::string const& login) { return "zookeeper://" + login + "@" + url.substr(12); };
    ZookeeperClient person{shared_zookeeper().port()};
    RunningStore store{with_login("worker:very-secret")};
    auto lease = RunningStore::acquire(store.lock("private", 2s));
    CHECK_THROWS_WITH(person.get("/private/lock"), ContainsSubstring("-102"));
    CHECK_FALSE(FiredAt{lease.token()}.wait(2500ms));

    for (auto const& login : {"worker:wrong-secret", "other:very-secret"}) {
        RunningStore stranger{with_login(login)};
        // each user has its own keys; a login with a wrong password cannot write to the generations
        auto const own = stranger.lock(std::string("of ") + login, 2s);
        if (login == std::string("other:very-secret")) {
            CHECK(RunningStore::acquire_error(own, {.wait = 5s}) == error_code());
        } else {
            CHECK(RunningStore::acquire_error(own, {.wait = 5s}) == errc::permission_denied);
            CHECK_THAT(stranger.store().diagnostics().last_detail, ContainsSubstring("its generation, /%g:worker/"));
        }
        CHECK(RunningStore::acquire_error(stranger.lock("private", 2s), {.wait = 5s}) == errc::permission_denied);
        auto const user = std::string(login).substr(0, std::string(login).find(':'));
        CHECK_THAT(
            stranger.store().diagnostics().last_detail,
            ContainsSubstring("private: NOAUTH: ") && ContainsSubstring("as the digest user '" + user + "'"));
        CHECK(stranger.log().find("secret") == std::string::npos);
        CHECK(stranger.store().diagnostics().last_detail.find("secret") == std::string::npos);
    }
    RunningStore nobody{url};
    CHECK(RunningStore::acquire_error(nobody.lock("private", 2s), {.wait = 5s}) == errc::permission_denied);
    CHECK_THAT(nobody.store().diagnostics().last_detail, ContainsSubstring("without a login"));
    CHECK(store.log().find("secret") == std::string::npos);
    CHECK(store.store().describe().find("worker") == std::string::npos);
    CHECK(RunningStore::release(lease) == ReleaseOutcome::released);
}

TEST_CASE("the doctor sees limits, tick and permissions of ZooKeeper", "[zookeeper]")
{
    RunningStore store{shared_zookeeper().url()};
    auto const [error, findings] = soon(store.store().async_examine(session_ttl, as_future));
    CHECK_FALSE(error);
    auto const of = [&](std::string const& subject) {
        for (auto const& finding : findings)
            if (finding.subject == subject)
                return finding;
        return Finding{Finding::Severity::error, subject, "not looked at", ""};
    };
    CHECK(of("session timeouts").observed == "the server grants 200 ms to 60000 ms");
    CHECK(of("tick").severity == Finding::Severity::ok);
    CHECK(of("permissions").severity == Finding::Severity::ok);
    CHECK(of("access").severity == Finding::Severity::warning);
    CHECK(of("writes").observed.starts_with("a write takes"));
    auto url = shared_zookeeper().url();
    url.replace(url.find("tick=100ms"), 10, "tick=50ms");
    RunningStore wrong{url};
    auto const [nothing, others] = soon(wrong.store().async_examine(session_ttl, as_future));
    for (auto const& finding : others)
        if (finding.subject == "tick")
            CHECK_THAT(finding.advice, ContainsSubstring("?tick=100ms"));
}

TEST_CASE("a store that is let go of ends its session, and its nodes go with it at once", "[zookeeper]")
{
    ZookeeperClient person{shared_zookeeper().port()};
    {
        RunningStore store{shared_zookeeper().url()};
        auto lease = RunningStore::acquire(store.lock("leaving", 30s));
        auto const session = person.get("/leaving/lock").value().ephemeral_owner;
        REQUIRE(session != 0);
        RunningStore::release(lease);
    }
    CHECK_FALSE(person.get("/leaving/lock"));
    // 30 s is the timeout of that session: only its end was told
    CHECK(eventually(
        [&] { return zookeeper_word(shared_zookeeper().port(), "cons").find("to=30000") == std::string::npos; }, 2s));
}
