// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Instead of metrics_page.cpp in a build without Prometheus.
#include "exporter/metrics_page.hpp"

#include <stdexcept>

namespace tenure::tool
{

class MetricsPage::Content
{
};

MetricsPage::MetricsPage(Store)
{
    throw std::invalid_argument(
        "this program was built without metrics: build it with -DTENURE_PROMETHEUS=ON, which needs prometheus-cpp");
}

MetricsPage::~MetricsPage() = default;

std::string MetricsPage::text() const
{
    return {};
}

std::string MetricsPage::text(WatchedKeys const&) const
{
    return {};
}

} // namespace tenure::tool
