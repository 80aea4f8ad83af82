// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Three members of etcd whose leader is killed, stopped and cut off under 50 leases. TENURE_PARTITION_MINUTES sets for
// how long; without it each fault comes once, since ctest ends a test after three minutes.
#include "harness/etcd_server.hpp"
#include "integration/consensus_partitions.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdio>
#include <string>

using namespace tenure::test;
using namespace std::chrono_literals;

namespace
{

/** Before 3.4.31 and 3.5.13, a leader that stood still until leases were over in its eyes has them ended when it goes
 * on, although they were renewed at its successor. */
bool old_leaders_end_leases(std::string const& version)
{
    int minor = 0;
    int patch = 0;
    if (std::sscanf(version.c_str(), "3.%d.%d", &minor, &patch) != 2)
        return false;
    return (minor == 4 && patch < 31) || (minor == 5 && patch < 13);
}

} // namespace

TEST_CASE(
    "leases on etcd are kept in a partition that has a majority, and end in time in one that has none",
    "[etcd][partitions]")
{
    require_etcd();
    require_network_namespaces();
    MembersOf<EtcdCluster> members{EtcdServerOptions{}};
    // an election takes a second or two, and may have to be repeated; a third of the ttl may be over when it begins
    PartitionTerms terms{.ttl = 10s};
    if (old_leaders_end_leases(etcd_version())) {
        // less than is left of every lease in the eyes of a leader that is stopped
        terms.longest_stop = 4s;
        WARN("etcd " << etcd_version() << " ends leases when an old leader wakes up, so none stands still for long");
    }
    survive_partitions(members, terms);
}
