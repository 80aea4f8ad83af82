// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/metrics_page.hpp>
#include <tenure/prometheus.hpp>

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace tenure::prometheus
{

namespace
{

using ::prometheus::ClientMetric;
using ::prometheus::MetricType;

ClientMetric metric_of(MetricFamily::Type type, MetricFamily::Sample const& sample)
{
    ClientMetric metric;
    for (auto const& label : sample.labels)
        metric.label.push_back({label.name, label.value});
    switch (type) {
    case MetricFamily::Type::gauge:
        metric.gauge.value = sample.value;
        break;
    case MetricFamily::Type::counter:
        metric.counter.value = sample.value;
        break;
    case MetricFamily::Type::histogram:
        metric.histogram.sample_count = sample.count;
        metric.histogram.sample_sum = sample.value;
        for (auto const& bucket : sample.buckets)
            metric.histogram.bucket.push_back({bucket.cumulative_count, bucket.bound});
        break;
    }
    return metric;
}

MetricType type_of(MetricFamily::Type type) noexcept
{
    return type == MetricFamily::Type::gauge     ? MetricType::Gauge
           : type == MetricFamily::Type::counter ? MetricType::Counter
                                                 : MetricType::Histogram;
}

} // namespace

class Collector::Stores
{
public:
    void add(Store store)
    {
        std::lock_guard const lock(mutex_);
        stores_.push_back(std::move(store));
    }

    void remove(Store const& store)
    {
        std::unique_lock lock(mutex_);
        auto const found = std::ranges::find(stores_, store);
        if (found == stores_.end())
            return;
        // its end may run code of the user
        auto const removed = std::move(*found);
        stores_.erase(found);
        lock.unlock();
    }

    [[nodiscard]] std::vector<Store> all() const
    {
        std::lock_guard const lock(mutex_);
        return stores_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<Store> stores_;
};

Collector::Collector()
    : stores_(std::make_unique<Stores>())
{
}

Collector::~Collector() = default;

void Collector::add(Store store)
{
    stores_->add(std::move(store));
}

void Collector::remove(Store const& store)
{
    stores_->remove(store);
}

std::vector<::prometheus::MetricFamily> Collector::Collect() const
{
    std::vector<::prometheus::MetricFamily> all;
    for (auto& family : metric_families(stores_->all())) {
        auto& one = all.emplace_back();
        one.name = std::move(family.name);
        one.help = std::move(family.help);
        one.type = type_of(family.type);
        for (auto const& sample : family.samples)
            one.metric.push_back(metric_of(family.type, sample));
    }
    return all;
}

} // namespace tenure::prometheus
