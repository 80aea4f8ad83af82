// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "families.hpp"

#include <tenure/prometheus.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>

namespace tenure::prometheus
{

namespace
{

Statistics& operator+=(Statistics& sum, Statistics const& other) noexcept
{
    sum.renewals += other.renewals;
    sum.renewals_failed += other.renewals_failed;
    sum.released += other.released;
    sum.detached += other.detached;
    sum.released_not_owner += other.released_not_owner;
    sum.given_back += other.given_back;
    sum.places_lost += other.places_lost;
    sum.held_past_expiry += other.held_past_expiry;
    sum.events_dropped += other.events_dropped;
    return sum;
}

/** Adds the metrics of another store on the same server. Of the totals, those that are shown. */
void add(StoreMetrics& sum, StoreMetrics&& other)
{
    for (auto& name : other.names) {
        auto const same = std::ranges::find_if(
            sum.names, [&](NameMetrics const& one) { return one.kind == name.kind && one.name == name.name; });
        if (same == sum.names.end())
            sum.names.push_back(std::move(name));
        else
            *same += name;
    }
    sum.totals += other.totals;
    for (std::size_t kind = 0; kind < request_kinds; ++kind)
        sum.requests[kind] += other.requests[kind];
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
    std::vector<AddressMetrics> all;
    for (auto const& store : stores_->all()) {
        auto address = label_value(store.describe());
        auto const same = std::ranges::find(all, address, &AddressMetrics::store);
        if (same == all.end())
            all.push_back({std::move(address), store.metrics()});
        else
            prometheus::add(same->metrics, store.metrics());
    }
    return families_of(all);
}

} // namespace tenure::prometheus
