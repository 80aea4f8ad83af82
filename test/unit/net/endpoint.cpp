// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "net/endpoint.hpp"

#include <catch2/catch_test_macros.hpp>

namespace tenure
{

TEST_CASE("an endpoint is written as host and port, an IPv6 address in brackets", "[net]")
{
    CHECK(to_string(Endpoint{"host.example", 6379}) == "host.example:6379");
    CHECK(to_string(Endpoint{"10.0.0.1", 1}) == "10.0.0.1:1");
    CHECK(to_string(Endpoint{"fe80::1%eth0", 26379}) == "[fe80::1%eth0]:26379");
}

TEST_CASE("endpoints are written in their order, with commas between them", "[net]")
{
    using Endpoints = std::vector<Endpoint>;
    CHECK(to_string(Endpoints{}).empty());
    CHECK(to_string(Endpoints{{"a", 1}}) == "a:1");
    CHECK(to_string(Endpoints{{"b", 2}, {"::1", 3}, {"a", 1}}) == "b:2,[::1]:3,a:1");
}

} // namespace tenure
