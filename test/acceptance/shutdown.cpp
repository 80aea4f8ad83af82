// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A service stops promptly while its store is unavailable: every store in every outage.
#include "acceptance/shutdown_cells.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace tenure::test;

namespace
{

void check_all_stores(Outage outage)
{
    std::vector<std::pair<std::string_view, Outage>> cells;
    for (auto const store : store_kinds)
        cells.emplace_back(store, outage);
    check_shutdown(cells);
}

} // namespace

TEST_CASE("a service stops promptly whose store refuses connections", "[shutdown]")
{
    check_all_stores(Outage::refused);
}

TEST_CASE("a service stops promptly whose store is behind a black hole", "[shutdown]")
{
    check_all_stores(Outage::silent);
}

TEST_CASE("a service stops promptly whose store never answers", "[shutdown]")
{
    check_all_stores(Outage::unanswered);
}

TEST_CASE("a service stops promptly whose store does not end the TLS handshake", "[shutdown]")
{
    check_all_stores(Outage::tls_hangs);
}

TEST_CASE("a service stops promptly while a name server hangs", "[shutdown]")
{
    check_all_stores(Outage::names_hang);
}

TEST_CASE("a service stops promptly whose store loads its data", "[shutdown]")
{
    check_all_stores(Outage::loading);
}

TEST_CASE("a service stops promptly whose password is wrong", "[shutdown]")
{
    check_all_stores(Outage::wrong_password);
}

TEST_CASE("a service stops promptly whose store has no master or leader", "[shutdown]")
{
    check_all_stores(Outage::no_leader);
}

TEST_CASE("a service stops promptly whose store was killed", "[shutdown]")
{
    check_all_stores(Outage::killed);
}

TEST_CASE("a service stops promptly whose store was paused", "[shutdown]")
{
    check_all_stores(Outage::paused);
}
