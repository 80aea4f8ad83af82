// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Three members of etcd whose leader is killed, stopped and cut off under 50 leases. TENURE_PARTITION_MINUTES sets for
// how long; without it each fault comes once, since ctest ends a test after three minutes.
#include "harness/etcd_server.hpp"
#include "system/support/consensus_partitions.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>

using namespace tenure::test;
using namespace std::chrono_literals;

TEST_CASE(
    "leases on etcd are kept in a partition that has a majority, and end in time in one that has none",
    "[etcd][partitions]")
{
    require_etcd();
    require_network_namespaces();
    MembersOf<EtcdCluster> members{EtcdServerOptions{}};
    // an election takes a second or two, and may have to be repeated; a third of the ttl may be over when it begins
    survive_partitions(members, 10s);
}
