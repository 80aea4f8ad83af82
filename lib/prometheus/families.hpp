// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/metrics.hpp>

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace tenure::prometheus
{

/** The metrics of all stores with one address. */
struct AddressMetrics {
    /// as the value of a label
    std::string store;
    StoreMetrics metrics;
};

/** @param all  one for each address */
[[nodiscard]] std::vector<::prometheus::MetricFamily> families_of(std::vector<AddressMetrics> const& all);

} // namespace tenure::prometheus
