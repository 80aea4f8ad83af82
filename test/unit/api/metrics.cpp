// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/metrics.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>

namespace tenure::test
{

using namespace std::chrono_literals;

TEST_CASE("a duration is counted below the first bound that is not less", "[metrics]")
{
    CHECK(Distribution::bucket_of(-1s) == 0);
    CHECK(Distribution::bucket_of(0ns) == 0);
    CHECK(Distribution::bucket_of(64us) == 0);
    CHECK(Distribution::bucket_of(64'001ns) == 1);
    for (std::size_t bucket = 1; bucket < Distribution::bounded; ++bucket) {
        CHECK(Distribution::bucket_of(Distribution::bound(bucket)) == bucket);
        CHECK(Distribution::bucket_of(Distribution::bound(bucket) + 1ns) == bucket + 1);
        CHECK(Distribution::bound(bucket) == 2 * Distribution::bound(bucket - 1));
    }
    CHECK(Distribution::bound(Distribution::bounded - 1) > 70min);
    CHECK(Distribution::bucket_of(24h * 365) == Distribution::bounded);
}

TEST_CASE("a quantile is the bound below which that part lies", "[metrics]")
{
    Distribution distribution;
    CHECK(distribution.quantile(0.5) == 0us);
    distribution.buckets[0] = 90;
    distribution.buckets[3] = 9;
    distribution.buckets[Distribution::bounded] = 1;
    CHECK(distribution.count() == 100);
    CHECK(distribution.quantile(0) == 64us);
    CHECK(distribution.quantile(0.9) == 64us);
    CHECK(distribution.quantile(0.91) == 512us);
    CHECK(distribution.quantile(0.99) == 512us);
    CHECK(distribution.quantile(1) == Distribution::bound(Distribution::bounded - 1));
}

} // namespace tenure::test
