// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "families.hpp"

#include <tenure/prometheus.hpp>

#include <prometheus/client_metric.h>
#include <prometheus/metric_type.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tenure::prometheus
{

namespace
{

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

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

    void gauge(Labels labels, double value) { next(std::move(labels)).gauge.value = value; }
    void counter(Labels labels, std::uint64_t value)
    {
        next(std::move(labels)).counter.value = static_cast<double>(value);
    }
    /** The same with one more label. */
    void counter(Labels labels, std::string_view label, std::string_view of, std::uint64_t value)
    {
        labels.push_back({std::string(label), std::string(of)});
        counter(std::move(labels), value);
    }
    void histogram(Labels labels, Distribution const& distribution)
    {
        auto& histogram = next(std::move(labels)).histogram;
        std::uint64_t below = 0;
        for (std::size_t bucket = 0; bucket < Distribution::bounded; ++bucket) {
            below += distribution.buckets[bucket];
            histogram.bucket.push_back({below, seconds(Distribution::bound(bucket))});
        }
        histogram.sample_count = distribution.count();
        histogram.sample_sum = seconds(distribution.sum);
    }

    [[nodiscard]] MetricFamily take() && { return std::move(family_); }

private:
    ClientMetric& next(Labels labels)
    {
        auto& metric = family_.metric.emplace_back();
        metric.label = std::move(labels);
        return metric;
    }

    MetricFamily family_;
};

/** Families with a sample for each lock and pool. */
struct NameFamilies {
    Family held{"tenure_leases_held", MetricType::Gauge, "Leases that this program holds."};
    Family waiting{"tenure_acquisitions_waiting", MetricType::Gauge, "Acquisitions of this program under way."};
    Family ttl{"tenure_lease_ttl_seconds", MetricType::Gauge, "The configured ttl."};
    Family acquisitions{
        "tenure_acquisitions_total", MetricType::Counter,
        "Acquisitions by outcome: acquired, busy (all keys stayed held), cancelled, failed."};
    Family lost{
        "tenure_leases_lost_total", MetricType::Counter, "Leases whose token was cancelled by a loss, by reason."};
    Family wait{"tenure_acquisition_wait_seconds", MetricType::Histogram, "From the call to the grant, for grants."};
    Family hold{
        "tenure_lease_hold_seconds", MetricType::Histogram, "From the grant to the release, detachment or loss."};
    Family hand_over{
        "tenure_hand_over_seconds", MetricType::Histogram,
        "From a release, or its notification, to the grant of a waiter of this program."};
    Family margin{
        "tenure_renewal_margin_seconds", MetricType::Histogram,
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
        lost.counter(labels, "reason", "expired", name.lost[CancelReason::expired]);
        lost.counter(labels, "reason", "not_owner", name.lost[CancelReason::not_owner]);
        lost.counter(labels, "reason", "first_failed_renewal", name.lost[CancelReason::first_failed_renewal]);
        lost.counter(labels, "reason", "max_hold", name.lost[CancelReason::max_hold]);
        lost.counter(labels, "reason", "store_closed", name.lost[CancelReason::store_closed]);
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
        "tenure_store_requests_total", MetricType::Counter,
        "Requests to the store by kind and outcome: done, declined (the key has another owner), refused (the server "
        "answered with an error), not_sent, unanswered."};
    Family round_trip{
        "tenure_store_request_seconds", MetricType::Histogram,
        "Time to the answer of a request, by kind. Of releases, every eighth is timed."};
    Family renewals{"tenure_renewals_total", MetricType::Counter, "Renewals by outcome: renewed, failed."};
    Family releases{
        "tenure_releases_total", MetricType::Counter,
        "Releases and detachments by outcome: released, detached, not_owner (the key had another owner)."};
    Family given_back{
        "tenure_grants_given_back_total", MetricType::Counter,
        "Grants that arrived after their acquisition had ended, or too late to be used."};
    Family places_lost{
        "tenure_places_lost_total", MetricType::Counter,
        "Places of waiters of shares that lapsed although this program runs."};
    Family past_expiry{
        "tenure_leases_held_past_expiry_total", MetricType::Counter,
        "Leases that were released only after their validity had ended."};
    Family events_dropped{
        "tenure_events_dropped_total", MetricType::Counter, "Events that the hook of the store did not take in time."};

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

} // namespace

std::vector<MetricFamily> families_of(std::vector<AddressMetrics> const& all)
{
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

} // namespace tenure::prometheus
