// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/scripted_store.hpp"

#include <tenure/metrics_page.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <limits>
#include <string>

namespace tenure::test
{

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a page has a line for each sample, with its labels and its number")
{
    auto const inf = std::numeric_limits<double>::infinity();
    MetricFamily gauge{"a", "What\nit \\ is.", MetricFamily::Type::gauge, {}};
    gauge.samples.push_back({{}, 1});
    gauge.samples.push_back({{{"x", "1"}, {"y", "a\"b\\c\nd"}}, 0.25});
    gauge.samples.push_back({{{"x", "2"}}, inf});
    gauge.samples.push_back({{{"x", "3"}}, std::numeric_limits<double>::quiet_NaN()});
    CHECK(
        metrics_page({gauge}) == "# HELP a What\\nit \\\\ is.\n"
                                 "# TYPE a gauge\n"
                                 "a 1\n"
                                 "a{x=\"1\",y=\"a\\\"b\\\\c\\nd\"} 0.25\n"
                                 "a{x=\"2\"} +Inf\n"
                                 "a{x=\"3\"} NaN\n");
}

TEST_CASE("a histogram has its count, its sum and all buckets, the last one without a bound")
{
    MetricFamily const histogram{
        "h", "Time.", MetricFamily::Type::histogram, {{{{"x", "1"}}, 0.5, 3, {{0.000064, 1}, {0.5, 2}}}}};
    CHECK(
        metrics_page({histogram}) == "# HELP h Time.\n"
                                     "# TYPE h histogram\n"
                                     "h_count{x=\"1\"} 3\n"
                                     "h_sum{x=\"1\"} 0.5\n"
                                     "h_bucket{x=\"1\",le=\"6.4e-05\"} 1\n"
                                     "h_bucket{x=\"1\",le=\"0.5\"} 2\n"
                                     "h_bucket{x=\"1\",le=\"+Inf\"} 3\n");
}

TEST_CASE("a store's page needs no other library")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "k"});
    auto const page = metrics_page(metric_families({*test.store}));
    CHECK_THAT(page, ContainsSubstring("# TYPE tenure_leases_held gauge\n"));
    CHECK_THAT(
        page, ContainsSubstring("tenure_lease_ttl_seconds{store=\"scripted://\",kind=\"lock\",name=\"k\"} 10\n"));
    CHECK(metric_families({}).size() == metric_families({*test.store}).size());
}

} // namespace tenure::test
