// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The metrics of stores as families.
#include <tenure/metrics.hpp>
#include <tenure/metrics_page.hpp>
#include <tenure/store.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure
{

namespace
{

using Labels = std::vector<MetricFamily::Label>;
using MetricType = MetricFamily::Type;

double seconds(std::chrono::nanoseconds duration) noexcept
{
    return std::chrono::duration<double>(duration).count();
}

/** One family that grows with each store and name. */
class Family
{
public:
    Family(std::string name, MetricType type, std::string help)
    {
        family_.name = std::move(name);
        family_.type = type;
        family_.help = std::move(help);
    }

    void gauge(Labels labels, double value) { next(std::move(labels)).value = value; }
    void counter(Labels labels, std::uint64_t value) { next(std::move(labels)).value = static_cast<double>(value); }
    /** The same with one more label. */
    void counter(Labels labels, std::string_view label, std::string_view of, std::uint64_t value)
    {
        labels.push_back({std::string(label), std::string(of)});
        counter(std::move(labels), value);
    }
    void histogram(Labels labels, Distribution const& distribution)
    {
        auto& histogram = next(std::move(labels));
        std::uint64_t below = 0;
        for (std::size_t bucket = 0; bucket < Distribution::bounded; ++bucket) {
            below += distribution.buckets[bucket];
            histogram.buckets.push_back({seconds(Distribution::bound(bucket)), below});
        }
        histogram.count = distribution.count();
        histogram.value = seconds(distribution.sum);
    }

    [[nodiscard]] MetricFamily take() && { return std::move(family_); }

private:
    MetricFamily::Sample& next(Labels labels)
    {
        auto& sample = family_.samples.emplace_back();
        sample.labels = std::move(labels);
        return sample;
    }

    MetricFamily family_;
};

/** Families with a sample for each lock and pool. */
struct NameFamilies {
    Family held{"tenure_leases_held", MetricType::gauge, "Leases that this program holds."};
    Family waiting{"tenure_acquisitions_waiting", MetricType::gauge, "Acquisitions of this program under way."};
    Family ttl{"tenure_lease_ttl_seconds", MetricType::gauge, "The configured ttl."};
    Family acquisitions{
        "tenure_acquisitions_total", MetricType::counter,
        "Acquisitions by outcome: acquired, busy (all keys stayed held), cancelled, failed."};
    Family lost{
        "tenure_leases_lost_total", MetricType::counter, "Leases whose token was cancelled by a loss, by reason."};
    Family wait{"tenure_acquisition_wait_seconds", MetricType::histogram, "From the call to the grant, for grants."};
    Family hold{
        "tenure_lease_hold_seconds", MetricType::histogram, "From the grant to the release, detachment or loss."};
    Family hand_over{
        "tenure_hand_over_seconds", MetricType::histogram,
        "From a release, or its notification, to the grant of a waiter of this program."};
    Family margin{
        "tenure_renewal_margin_seconds", MetricType::histogram,
        "From a successful renewal to the cancellation that it prevented."};

    void add(Labels const& labels, NameMetrics const& name)
    {
        held.gauge(labels, static_cast<double>(name.held));
        waiting.gauge(labels, static_cast<double>(name.waiting));
        ttl.gauge(labels, seconds(name.ttl));
        acquisitions.counter(labels, "outcome", "acquired", name.waiting_time.count());
        acquisitions.counter(labels, "outcome", "busy", name.busy);
        acquisitions.counter(labels, "outcome", "cancelled", name.cancelled);
        acquisitions.counter(labels, "outcome", "failed", name.failed);
        for (std::size_t number = 0; number < cancel_reasons; ++number)
            if (auto const reason = static_cast<CancelReason>(number); is_loss(reason))
                lost.counter(labels, "reason", to_string(reason), name.lost[reason]);
        wait.histogram(labels, name.waiting_time);
        hold.histogram(labels, name.holding_time);
        hand_over.histogram(labels, name.hand_over);
        margin.histogram(labels, name.renewal_margin);
    }

    void take(std::vector<MetricFamily>& to) &&
    {
        for (auto* const family : {&held, &waiting, &ttl, &acquisitions, &lost, &wait, &hold, &hand_over, &margin})
            to.push_back(std::move(*family).take());
    }
};

/** Families with a sample for each store. */
struct StoreFamilies {
    Family requests{
        "tenure_store_requests_total", MetricType::counter,
        "Requests to the store by kind and outcome: done, declined (the key has another owner), refused (the server "
        "answered with an error), not_sent, unanswered."};
    Family round_trip{
        "tenure_store_request_seconds", MetricType::histogram,
        "Time to the answer of a request, by kind. Of releases, every eighth is timed."};
    Family renewals{"tenure_renewals_total", MetricType::counter, "Renewals by outcome: renewed, failed."};
    Family releases{
        "tenure_releases_total", MetricType::counter,
        "Releases and detachments by outcome: released, detached, not_owner (the key had another owner)."};
    Family given_back{
        "tenure_grants_given_back_total", MetricType::counter,
        "Grants that arrived after their acquisition had ended, or too late to be used."};
    Family places_lost{
        "tenure_places_lost_total", MetricType::counter,
        "Places of waiters of shares that lapsed although this program runs."};
    Family past_expiry{
        "tenure_leases_held_past_expiry_total", MetricType::counter,
        "Leases that were released only after their validity had ended."};
    Family events_dropped{
        "tenure_events_dropped_total", MetricType::counter, "Events that the hook of the store did not take in time."};

    void add(Labels const& labels, StoreMetrics const& store)
    {
        for (std::size_t kind = 0; kind < request_kinds; ++kind) {
            auto with_kind = labels;
            with_kind.push_back({"request", std::string(to_string(static_cast<RequestKind>(kind)))});
            for (std::size_t outcome = 0; outcome < request_outcomes; ++outcome)
                requests.counter(
                    with_kind, "outcome", to_string(static_cast<RequestOutcome>(outcome)),
                    store.requests[kind].by_outcome[outcome]);
            round_trip.histogram(with_kind, store.requests[kind].round_trip);
        }
        auto const& totals = store.totals;
        renewals.counter(labels, "outcome", "renewed", totals.renewals);
        renewals.counter(labels, "outcome", "failed", totals.renewals_failed);
        releases.counter(labels, "outcome", "released", totals.released);
        releases.counter(labels, "outcome", "detached", totals.detached);
        releases.counter(labels, "outcome", "not_owner", totals.released_not_owner);
        given_back.counter(labels, totals.given_back);
        places_lost.counter(labels, totals.places_lost);
        past_expiry.counter(labels, totals.held_past_expiry);
        events_dropped.counter(labels, totals.events_dropped);
    }

    void take(std::vector<MetricFamily>& to) &&
    {
        for (auto* const family :
             {&requests, &round_trip, &renewals, &releases, &given_back, &places_lost, &past_expiry, &events_dropped})
            to.push_back(std::move(*family).take());
    }
};

/** Adds those totals that are shown. */
void add(Statistics& sum, Statistics const& other) noexcept
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
}

/** Adds the metrics of another store on the same server. */
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
    add(sum.totals, other.totals);
    for (std::size_t kind = 0; kind < request_kinds; ++kind)
        sum.requests[kind] += other.requests[kind];
}

/** The metrics of all stores with one address. */
struct AddressMetrics {
    /// as the value of a label
    std::string store;
    StoreMetrics metrics;
};

std::vector<AddressMetrics> by_address(std::vector<Store> const& stores)
{
    std::vector<AddressMetrics> all;
    for (auto const& store : stores) {
        auto address = label_value(store.describe());
        auto const same = std::ranges::find(all, address, &AddressMetrics::store);
        if (same == all.end())
            all.push_back({std::move(address), store.metrics()});
        else
            add(same->metrics, store.metrics());
    }
    return all;
}

} // namespace

std::vector<MetricFamily> metric_families(std::vector<Store> const& all_stores)
{
    auto const all = by_address(all_stores);
    NameFamilies names;
    StoreFamilies stores;
    for (auto const& [store, metrics] : all) {
        Labels const labels{{"store", store}};
        for (auto const& name : metrics.names) {
            auto with_name = labels;
            with_name.push_back({"kind", std::string(to_string(name.kind))});
            with_name.push_back({"name", label_value(name.name)});
            names.add(with_name, name);
        }
        stores.add(labels, metrics);
    }
    std::vector<MetricFamily> families;
    std::move(names).take(families);
    std::move(stores).take(families);
    return families;
}

} // namespace tenure
