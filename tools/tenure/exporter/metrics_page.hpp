// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "keys/key_look.hpp"

#include <tenure/key_range.hpp>
#include <tenure/store.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace tenure::tool
{

/** Keys whose holders are shown. */
struct WatchedRange {
    KeyRangePtr range;
    /// a lock whose holder leads
    bool is_election = false;
};

/** An exporter's observations of its keys. */
struct WatchedKeys {
    std::vector<WatchedRange> ranges;
    KeyLook look;
    std::chrono::system_clock::time_point taken_at;
};

/** The page /metrics: the metrics of this program's store, and of keys that it watches. */
class MetricsPage
{
public:
    /** @throws std::invalid_argument if this program was built without Prometheus */
    explicit MetricsPage(Store store);
    MetricsPage(MetricsPage const&) = delete;
    MetricsPage& operator=(MetricsPage const&) = delete;
    ~MetricsPage();

    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string text(WatchedKeys const& keys) const;

private:
    class Content;
    std::unique_ptr<Content> content_;
};

} // namespace tenure::tool
