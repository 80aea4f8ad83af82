// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenure
{

class Store;

/** Samples of one metric, as Prometheus and OpenMetrics know them. Needs no other library; with a registry of
 * prometheus-cpp, use `tenure::prometheus::Collector`. */
struct MetricFamily {
    /// the kind of metric; the name of a counter ends with `_total`
    enum class Type : std::uint8_t { gauge, counter, histogram };
    /// one label of a sample
    struct Label {
        /// the name: letters and `_`
        std::string name = {};
        /// the value: any UTF-8, see `label_value`
        std::string value = {};

        friend bool operator==(Label const&, Label const&) = default;
    };
    /// one bucket of a histogram
    struct Bucket {
        /// the greatest value that it counts
        double bound = 0;
        /// values up to the bound, those of lower buckets included
        std::uint64_t cumulative_count = 0;
    };
    /// what has these labels
    struct Sample {
        /// labels that no other sample of the family has
        std::vector<Label> labels = {};
        /// the value; of a histogram the sum of all values
        double value = 0;
        /// of a histogram: all values
        std::uint64_t count = 0;
        /// of a histogram: the buckets with a bound, in rising order
        std::vector<Bucket> buckets = {};
    };

    /// begins with `tenure_`
    std::string name = {};
    /// one sentence
    std::string help = {};
    /// the kind of metric
    Type type = Type::gauge;
    /// the samples
    std::vector<Sample> samples = {};
};

/** The name of the enumerator, which is also the word of the text format. */
[[nodiscard]] TENURE_API std::string_view to_string(MetricFamily::Type type) noexcept;

/** All metrics of the stores, without I/O. docs/users/monitoring.md lists them. Labels are the address of the store
 * without secrets, and name and kind of up to `StoreMetrics::most_names` locks and pools for each store. Stores with
 * the same address are added up. */
[[nodiscard]] TENURE_API std::vector<MetricFamily> metric_families(std::vector<Store> const& stores);

/** The families as a page for Prometheus: the text format 0.0.4, whose `Content-Type` is `metrics_content_type`. */
[[nodiscard]] TENURE_API std::string metrics_page(std::vector<MetricFamily> const& families);

/// the `Content-Type` of `metrics_page`
inline constexpr std::string_view metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

/** A key or name as the value of a label: at most 160 bytes of UTF-8. Bytes that are no UTF-8 become `\xNN`. A longer
 * value is cut, and ends with a hash of the whole. */
[[nodiscard]] TENURE_API std::string label_value(std::string_view text);

} // namespace tenure
