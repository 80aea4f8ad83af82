// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Access to a real cluster: permissions, TLS, and the messages for users.
#include "system/support/certificate_authority.hpp"
#include "system/support/running_store.hpp"

#include "harness/eventually.hpp"
#include "harness/redis_cluster.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace tenure::test
{

TEST_CASE_METHOD(
    RedisTest, "a server that is no cluster is refused with the URL to use, and a node alone as well", "[cluster]")
{
    RunningStore running{"redis+cluster://127.0.0.1:" + std::to_string(server.port())};
    CHECK(RunningStore::acquire_error(running.lock("job", 3s), {.wait = 5s}) == errc::wrong_server);
    CHECK(running.store().diagnostics().last_detail.find("use redis://") != std::string::npos);

    RedisCluster cluster{{.replicas = 0}};
    std::string other = "job";
    while (cluster.owner_of(other) == 0)
        other += "-";
    RunningStore alone{cluster.server(0).url()};
    CHECK(RunningStore::acquire_error(alone.lock(other, 3s), {.wait = 5s}) == errc::wrong_server);
    CHECK(alone.store().diagnostics().last_detail.find("use redis+cluster://") != std::string::npos);
}

namespace
{

/// a user with the permissions for leases and the line of waiters, without those for redirects and channels
std::string const may_hold =
    "user worker on >secret resetchannels -@all +eval +evalsha +get +mget +exists +set +del +pexpire "
    "+pttl +incr +time +multi +exec +lpos +rpush +lpush +lpop +lrem +lrange +llen +cluster|shards ~P* "
    "~tenure:fence:* ~{P*}:waiting ~{P*}:watched";

} // namespace

TEST_CASE("the documented permissions are enough in a cluster, and nothing is refused", "[cluster][acl]")
{
    require_redis();
    auto const user = may_hold + " +asking +ssubscribe +sunsubscribe +spublish &{P*}:free &P*";
    RedisCluster cluster{{.replicas = 0, .node = {.config = {user}}}};
    RunningStore running{"redis+cluster://worker:secret@127.0.0.1:" + std::to_string(cluster.port(2))};
    for (std::string const prefix : {"P:", "P{t}:"}) {
        SlotPool const pool{running.store(), {.prefix = prefix, .size = 3, .ttl = 1s}};
        std::vector<Slot> all;
        for (int i = 0; i < 3; ++i)
            all.push_back(RunningStore::acquire(pool));
        auto waiting = pool.async_acquire({.wait = 15s}, as_future);
        // each is renewed once
        auto const renewals_before = running.store().statistics().renewals;
        REQUIRE(eventually([&] { return running.store().statistics().renewals >= renewals_before + 3; }));
        CHECK(RunningStore::release(all[0]) == ReleaseOutcome::released);
        auto [error, slot] = soon(std::move(waiting));
        CHECK_FALSE(error);
        static_cast<void>(RunningStore::release(slot));
        for (std::size_t i = 1; i < all.size(); ++i)
            static_cast<void>(RunningStore::release(all[i]));
    }
    for (std::size_t node = 0; node < cluster.size(); ++node)
        CHECK(cluster.server(node).client().call("ACL", "LOG").elements.empty());
}

TEST_CASE("a user's missing permissions in a cluster are found before the first use", "[cluster][acl]")
{
    require_redis();
    auto const user = may_hold + " +acl";
    RedisCluster cluster{{.replicas = 0, .node = {.config = {user}}}};
    RunningStore running{"redis+cluster://worker:secret@127.0.0.1:" + std::to_string(cluster.port(0))};
    auto const [error, findings] = soon(running.store().async_examine(1s, as_future));
    CHECK_FALSE(error);
    auto const of_permissions = [](Finding const& finding) { return finding.subject == "permissions"; };
    // each master may have users of its own
    CHECK(std::ranges::count_if(findings, of_permissions) == 3);
    for (auto const& finding : findings) {
        if (!of_permissions(finding))
            continue;
        CHECK(finding.severity == Finding::Severity::warning);
        CHECK(finding.observed.ends_with(
            "missing: +hget +hmget +hset +hdel +hgetall +spublish +ssubscribe +sunsubscribe +asking"));
        CHECK(finding.advice.find("a hash slot that is being moved") != std::string::npos);
    }
}

TEST_CASE("leases in a cluster over TLS, at all nodes that it names", "[cluster][tls]")
{
    require_redis();
    Authority const authority;
    authority.issue("good", "IP:127.0.0.1");
    auto secure = tls_options(authority, "good");
    secure.config.emplace_back("tls-cluster yes");
    RedisCluster cluster{{.replicas = 0, .node = secure}};
    RunningStore running{cluster.tls_url() + "?tls_ca=" + authority.ca()};
    SlotPool const pool{running.store(), {.prefix = "spread:", .size = 9, .ttl = 1s}};
    std::vector<Slot> all;
    for (int i = 0; i < 9; ++i)
        all.push_back(RunningStore::acquire(pool));
    // each is renewed twice
    REQUIRE(eventually([&] { return running.store().statistics().renewals >= 18; }));
    for (auto& slot : all) {
        CHECK(slot.valid());
        CHECK(RunningStore::release(slot) == ReleaseOutcome::released);
    }
    // the counters of fencing tokens stay: each node served some of the slots
    for (std::size_t node = 0; node < cluster.size(); ++node)
        CHECK(cluster.server(node).client().keys("*").size() >= 1);

    Authority const stranger;
    RunningStore wrong{cluster.tls_url() + "?tls_ca=" + stranger.ca()};
    CHECK(RunningStore::acquire_error(wrong.lock("job", 3s), {.wait = 5s}) == errc::tls_failed);
}

TEST_CASE("nodes that tell no TLS ports are an error that says what to set", "[cluster][tls]")
{
    require_redis();
    Authority const authority;
    authority.issue("good", "IP:127.0.0.1");
    RedisCluster cluster{{.replicas = 0, .node = tls_options(authority, "good")}};
    RunningStore running{cluster.tls_url() + "?tls_ca=" + authority.ca()};
    CHECK(RunningStore::acquire_error(running.lock("job", 3s), {.wait = 1s}) == errc::store_refused);
    CHECK(running.store().diagnostics().last_detail.find("set tls-cluster yes") != std::string::npos);
}

} // namespace tenure::test
