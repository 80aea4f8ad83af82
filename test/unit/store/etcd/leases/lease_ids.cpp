// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// IDs of leases: a copy of the process must not ask for a lease that another copy has.
#include "unit/store/etcd/gateway.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <cstring>
#include <string>

namespace tenure::test
{

TEST_CASE(
    "the ID of a lease is drawn after its claim has begun, so that copies of the process never share one", "[etcd]")
{
    EtcdGateway gateway;
    gateway.run_for(1s);
    // random bytes that were drawn before an image was taken are the same in all of its copies
    gateway.runtime->drawn.clear();
    auto const grant = gateway.claim();
    std::uint64_t number = 0;
    REQUIRE(gateway.runtime->drawn.size() == sizeof number);
    std::memcpy(&number, gateway.runtime->drawn.data(), sizeof number);
    CHECK(gateway.lease_of_key == std::to_string((number >> 1U) | 1));
    gateway.release(grant);
}

} // namespace tenure::test
