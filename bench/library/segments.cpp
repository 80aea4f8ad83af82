// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "library/latency.hpp"
#include "library/session.hpp"

#include <string>
#include <utility>
#include <vector>

namespace bench::library
{

namespace
{

/** Locks the segment of one item, then that of the next one, as a program does that is handed items. */
class Items
{
public:
    explicit Items(tenure::SegmentedLock lock)
        : lock_(std::move(lock))
    {
        for (unsigned number = 0; number < 64; ++number)
            items_.push_back("sku-" + std::to_string(number));
    }

    [[nodiscard]] auto async_acquire() { return lock_.for_item(items_[next_++ % items_.size()]).async_acquire(); }

private:
    tenure::SegmentedLock lock_;
    std::vector<std::string> items_;
    std::size_t next_ = 0;
};

} // namespace

Measurement segment_latency(std::string const& url, unsigned segments, unsigned pairs, Features features)
{
    std::vector<double> times;
    times.reserve(pairs);
    run_session(url, [&](tenure::Store store) {
        tenure::SegmentedLockConfig config;
        config.prefix = "bench:lock:";
        config.segments = tenure::Segments::hashed(segments);
        config.lease = lease_options(features);
        return measure_latency(Items(tenure::SegmentedLock(std::move(store), std::move(config))), pairs, times);
    });
    return {median(times)};
}

} // namespace bench::library
