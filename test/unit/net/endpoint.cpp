// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "net/endpoint.hpp"

#include <catch2/catch_test_macros.hpp>

namespace tenure::net
{

TEST_CASE("an endpoint is written as host and port, an IPv6 address in brackets", "[net]")
{
    CHECK(endpoint_text("host.example", 6379) == "host.example:6379");
    CHECK(endpoint_text("10.0.0.1", 1) == "10.0.0.1:1");
    CHECK(endpoint_text("fe80::1%eth0", 26379) == "[fe80::1%eth0]:26379");
}

TEST_CASE("endpoints are written in their order, with commas between them", "[net]")
{
    CHECK(endpoints_text({}).empty());
    CHECK(endpoints_text({{"a", 1}}) == "a:1");
    CHECK(endpoints_text({{"b", 2}, {"::1", 3}, {"a", 1}}) == "b:2,[::1]:3,a:1");
}

} // namespace tenure::net
