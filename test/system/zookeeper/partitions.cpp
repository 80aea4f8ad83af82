// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Three ZooKeeper servers whose leader is killed, stopped and cut off under 50 leases. TENURE_PARTITION_MINUTES sets
// for how long; without it each fault comes once, since ctest ends a test after three minutes.
#include "harness/zookeeper_server.hpp"
#include "system/support/consensus_partitions.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>

using namespace tenure::test;
using namespace std::chrono_literals;

TEST_CASE(
    "leases on ZooKeeper are kept in a partition that has a majority, and end in time in one that has none",
    "[zookeeper][partitions]")
{
    require_zookeeper();
    require_network_namespaces();
    // A follower gives the leader up after two seconds of silence, and one that was elected gives up after four without
    // a majority; members that found no leader ask each other again after a second at the latest, not after a minute.
    MembersOf<ZookeeperEnsemble> members{ZookeeperOptions{
        .tick = 400ms,
        .shortest_session = 800ms,
        .init_ticks = 10,
        .sync_ticks = 5,
        .java = {"-Dzookeeper.fastleader.maxNotificationInterval=1000", "-Dzookeeper.cnxTimeout=1000"}}};
    survive_partitions(members, 12s);
}
