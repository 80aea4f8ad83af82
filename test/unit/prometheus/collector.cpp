// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/scripted_store.hpp"

#include <tenure/metrics_page.hpp>
#include <tenure/prometheus.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <prometheus/check_names.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace tenure::test
{

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;

namespace
{

void acquire(ScriptedStore& test, Lock const& lock, Attempt<Lease>& attempt)
{
    attempt.start(lock);
    test.runtime->run_ready();
    test.runtime->run_for(3ms);
    test.backend->answer(test.backend->claims, test.grant(3s));
    test.runtime->run_ready();
    REQUIRE(attempt.error == error_code());
}

std::string text_of(prometheus::Collector const& collector)
{
    return ::prometheus::TextSerializer().Serialize(collector.Collect());
}

} // namespace

TEST_CASE("metrics keep the conventions of Prometheus", "[prometheus]")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "k", .ttl = 3s});
    prometheus::Collector collector;
    collector.add(*test.store);
    auto const families = collector.Collect();
    REQUIRE(families.size() > 10);
    std::set<std::string> names;
    for (auto const& family : families) {
        CAPTURE(family.name);
        CHECK(names.insert(family.name).second);
        CHECK(::prometheus::CheckMetricName(family.name));
        CHECK(family.name.starts_with("tenure_"));
        CHECK(family.name.ends_with("_total") == (family.type == MetricType::Counter));
        CHECK((family.type != MetricType::Histogram || family.name.ends_with("_seconds")));
        CHECK(family.help.ends_with('.'));
        CHECK_FALSE(family.metric.empty());
        std::set<std::vector<::prometheus::ClientMetric::Label>> labels;
        for (auto const& metric : family.metric) {
            // two samples with the same labels make Prometheus refuse the page
            CHECK(labels.insert(metric.label).second);
            for (auto const& label : metric.label)
                CHECK(std::ranges::all_of(label.name, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; }));
            if (family.type == MetricType::Histogram) {
                CHECK(metric.histogram.bucket.size() == Distribution::bounded);
                CHECK(std::ranges::is_sorted(
                    metric.histogram.bucket, {}, [](auto const& bucket) { return bucket.cumulative_count; }));
            }
        }
    }
}

TEST_CASE("a page shows what a store has counted", "[prometheus]")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "k", .ttl = 3s});
    prometheus::Collector collector;
    collector.add(*test.store);
    Attempt<Lease> attempt;
    acquire(test, lock, attempt);
    auto const page = text_of(collector);
    CHECK_THAT(page, ContainsSubstring("# TYPE tenure_leases_held gauge\n"));
    CHECK_THAT(page, ContainsSubstring("tenure_leases_held{store=\"scripted://\",kind=\"lock\",name=\"k\"} 1\n"));
    CHECK_THAT(page, ContainsSubstring("tenure_lease_ttl_seconds{store=\"scripted://\",kind=\"lock\",name=\"k\"} 3\n"));
    CHECK_THAT(
        page, ContainsSubstring("tenure_acquisition_wait_seconds_bucket{store=\"scripted://"
                                "\",kind=\"lock\",name=\"k\",le=\"0.002048\"} 0\n"));
    CHECK_THAT(
        page, ContainsSubstring("tenure_acquisition_wait_seconds_bucket{store=\"scripted://"
                                "\",kind=\"lock\",name=\"k\",le=\"0.004096\"} 1\n"));
    CHECK_THAT(
        page,
        ContainsSubstring("tenure_store_requests_total{store=\"scripted://\",request=\"claim\",outcome=\"done\"} 1\n"));
}

TEST_CASE(
    "the page without another library is that of prometheus-cpp, apart from how it writes numbers", "[prometheus]")
{
    ScriptedStore test;
    Lock const lock(*test.store, {.key = "k \"\\\xc3\xa4", .ttl = 3s});
    SlotPool const pool(*test.store, {.prefix = "pool:", .size = 2});
    Attempt<Lease> attempt;
    acquire(test, lock, attempt);
    prometheus::Collector collector;
    collector.add(*test.store);
    // the numbers are the ends of the lines; those of buckets' bounds stay
    auto const without_numbers = [](std::string const& page) {
        std::istringstream lines(page);
        std::vector<std::string> result;
        for (std::string line; std::getline(lines, line);)
            result.push_back(line.starts_with('#') ? line : line.substr(0, line.rfind(' ')));
        return result;
    };
    auto const page = metrics_page(metric_families({*test.store}));
    REQUIRE(page.size() > 10'000);
    CHECK(without_numbers(page) == without_numbers(text_of(collector)));
    CHECK_THAT(page, ContainsSubstring("kind=\"lock\",name=\"k \\\"\\\\\xc3\xa4\"} 1\n"));
}

TEST_CASE("stores with one address are added up, and a removed one is gone", "[prometheus]")
{
    ScriptedStore first;
    ScriptedStore second;
    Lock const lock(*first.store, {.key = "k", .ttl = 3s});
    Lock const same(*second.store, {.key = "k", .ttl = 3s});
    Attempt<Lease> one;
    Attempt<Lease> other;
    acquire(first, lock, one);
    acquire(second, same, other);
    prometheus::Collector collector;
    collector.add(*first.store);
    collector.add(*second.store);
    CHECK_THAT(
        text_of(collector),
        ContainsSubstring("tenure_leases_held{store=\"scripted://\",kind=\"lock\",name=\"k\"} 2\n"));
    collector.remove(*first.store);
    CHECK_THAT(
        text_of(collector),
        ContainsSubstring("tenure_leases_held{store=\"scripted://\",kind=\"lock\",name=\"k\"} 1\n"));
    collector.remove(*second.store);
    CHECK_THAT(text_of(collector), !ContainsSubstring("name="));
}

TEST_CASE("a label is UTF-8 of bounded length, and different names stay different", "[prometheus]")
{
    using prometheus::label_value;
    CHECK(label_value("job:\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x92") == "job:\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x92");
    CHECK(label_value("a\xff\xc3") == "a\\xff\\xc3");
    // too long a form, half of a pair of UTF-16, beyond the last character
    CHECK(label_value("\xc0\x80") == "\\xc0\\x80");
    CHECK(label_value("\xed\xa0\x80") == "\\xed\\xa0\\x80");
    CHECK(label_value("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
    CHECK(label_value(std::string(160, 'x')) == std::string(160, 'x'));
    auto const one = label_value(std::string(400, 'x') + "1");
    auto const other = label_value(std::string(400, 'x') + "2");
    CHECK(one.size() == 160);
    CHECK(one != other);
    CHECK(one.starts_with(std::string(100, 'x')));
    CHECK(label_value(std::string(300, '\xff')).size() <= 160);
}

} // namespace tenure::test
