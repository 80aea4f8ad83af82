// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A service stops promptly while its store is unavailable: about a quarter of the cells, and each store once.
#include "acceptance/shutdown_cells.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace tenure::test;

TEST_CASE("a service stops promptly where its store was never available", "[shutdown]")
{
    check_shutdown(
        {{"redis", Outage::refused},
         {"redis+cluster", Outage::refused},
         {"redlock", Outage::silent},
         {"etcd", Outage::unanswered},
         {"rediss", Outage::tls_hangs},
         {"etcds", Outage::names_hang},
         {"redis", Outage::names_hang},
         {"zookeeper", Outage::names_hang},
         {"redis", Outage::loading},
         {"redis+sentinel", Outage::no_leader}});
}

TEST_CASE("a service stops promptly where its store was lost", "[shutdown]")
{
    check_shutdown(
        {{"redis", Outage::killed},
         {"redis", Outage::paused},
         {"etcd", Outage::killed},
         {"zookeeper", Outage::killed},
         {"redis+cluster", Outage::paused}});
}
