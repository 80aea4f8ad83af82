// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Many leases of one process on a real etcd: bursts of acquisitions, and renewals that share requests.
#include "harness/etcd_server.hpp"
#include "harness/eventually.hpp"
#include "system/support/running_store.hpp"

#include "store/etcd/http/messages.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;

using namespace tenure;
using namespace tenure::test;

namespace
{

/** Acquires locks named by prefix and number, all at once. */
std::vector<Lease> acquire_at_once(
    RunningStore const& running, std::string const& prefix, std::size_t count, std::chrono::milliseconds ttl)
{
    std::vector<std::future<Lease>> pending;
    for (std::size_t i = 0; i < count; ++i)
        pending.push_back(running.lock(prefix + std::to_string(i), ttl).async_acquire(30s, asio::use_future));
    std::vector<Lease> leases;
    for (auto& one : pending)
        leases.push_back(within(40s, std::move(one)));
    return leases;
}

std::ptrdiff_t lost(std::vector<Lease> const& leases)
{
    return std::ranges::count_if(leases, [](Lease const& lease) { return lease.token().cancelled(); });
}

} // namespace

TEST_CASE_METHOD(
    EtcdTest, "a burst of acquisitions on etcd is granted, and costs no lease that was held before", "[etcd]")
{
    RunningStore running{server.url()};
    constexpr std::size_t held = 100;
    constexpr std::size_t burst = 2000;
    auto const before = acquire_at_once(running, "held:", held, 9s);
    auto const after = acquire_at_once(running, "burst:", burst, 9s);
    // a renewal of each
    CHECK(eventually([&] { return running.store().statistics().renewals >= held + burst; }, 15s));
    CHECK(lost(before) == 0);
    CHECK(lost(after) == 0);
    CHECK(running.store().statistics().renewals_failed == 0);
    CHECK(running.store().statistics().min_renewal_margin >= 3s);
}

TEST_CASE_METHOD(
    EtcdTest, "of many keys that are renewed together on etcd, those are lost that were taken away", "[etcd]")
{
    RunningStore running{server.url()};
    auto const leases = acquire_at_once(running, "key:", 300, 6s);
    auto const post = [&](char const* path, std::string const& body) { return etcd_post(server.port(), path, body); };
    auto const deleted = etcd::Transaction().then_delete("key:5").body();
    auto const retaken = etcd::Transaction().then_delete("key:100").body();
    auto const put = etcd::Transaction().then_put("key:100", "another", 0).body();
    static_cast<void>(post("kv/txn", deleted));
    static_cast<void>(post("kv/txn", retaken));
    static_cast<void>(post("kv/txn", put));
    auto const read = etcd::parse_range(post("kv/range", etcd::range_body({"key:200", {}}, {})));
    REQUIRE(read);
    REQUIRE(read->found.size() == 1);
    static_cast<void>(post("lease/revoke", etcd::lease_body(read->found.front().lease)));
    // one renewal interval
    CHECK(eventually([&] { return lost(leases) == 3; }, 3s));
    // and another one of each of the others
    auto const renewed = running.store().statistics().renewals;
    CHECK(eventually([&] { return running.store().statistics().renewals >= renewed + 297; }, 5s));
    for (auto const& lease : leases) {
        bool const taken = lease.key() == "key:5" || lease.key() == "key:100" || lease.key() == "key:200";
        CHECK(lease.token().cancelled() == taken);
        if (taken)
            CHECK(lease.token().reason() == CancelReason::not_owner);
    }
}
