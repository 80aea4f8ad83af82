// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/metrics_page.hpp>
#include <tenure/store.hpp>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/** Metrics for a registry of prometheus-cpp: link `tenure::prometheus`. Without one, `<tenure/metrics_page.hpp>` writes
 * the same page and needs no other library. Inside the namespace `tenure`, write the
 * name of the other one with two colons in front. */
namespace tenure::prometheus
{

/** The metrics of any number of stores, for `prometheus::Exposer::RegisterCollectable` or a server of your own.
 *
 *  ```
 *  auto const collector = std::make_shared<tenure::prometheus::Collector>();
 *  collector->add(store);
 *  prometheus::Exposer exposer{"127.0.0.1:9100"};
 *  exposer.RegisterCollectable(collector);
 *  ```
 *  docs/users/monitoring.md lists the metrics. Labels are the address of the store without secrets, and name and kind
 * of up to `StoreMetrics::most_names` locks and pools for each store. Stores with the same address are added up.
 *
 *  @par Thread safety  All members may be called at the same time, from any thread, on the same object.
 *  @par Object lifetime  It holds the stores, which stay open until `remove` or its end. Give it to the store's owner
 * if the store is to close by itself.
 */
class Collector final : public ::prometheus::Collectable
{
public:
    Collector();
    Collector(Collector const&) = delete;
    Collector& operator=(Collector const&) = delete;
    ~Collector() override;

    /** Adds the store to the output. */
    void add(Store store);
    /** Removes the store. Its counts disappear, so totals may decrease. */
    void remove(Store const& store);

    /** Without I/O. */
    [[nodiscard]] std::vector<::prometheus::MetricFamily> Collect() const override;

private:
    class Stores;
    std::unique_ptr<Stores> stores_;
};

/// see `tenure::label_value`
using tenure::label_value;

} // namespace tenure::prometheus
