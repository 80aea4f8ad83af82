// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "exporter/metrics_page.hpp"

#include "keys/holder.hpp"

#include <tenure/metrics_page.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::tool
{

namespace
{

using Labels = std::vector<MetricFamily::Label>;

/// slots that are shown one by one; of a larger pool those that are held first
constexpr std::size_t most_slots = 1024;

constexpr std::array<std::string_view, 7> state_names{"free", "held",    "evicted", "resting",
                                                      "kept", "foreign", "unknown"};

MetricFamily make_gauge(std::string name, std::string help)
{
    MetricFamily family;
    family.name = std::move(name);
    family.help = std::move(help);
    return family;
}

void add(MetricFamily& family, Labels labels, double value)
{
    auto& sample = family.samples.emplace_back();
    sample.labels = std::move(labels);
    sample.value = value;
}

Labels with(Labels labels, std::string_view name, std::string_view value)
{
    labels.push_back({std::string(name), label_value(value)});
    return labels;
}

/** The metrics of keys as seen from outside. */
struct KeyFamilies {
    MetricFamily up = make_gauge("tenure_store_up", "1: the store has answered this scrape, 0: it has not.");
    MetricFamily size = make_gauge("tenure_pool_size", "Slots of the pool; 1 for a lock or an election.");
    MetricFamily slots = make_gauge(
        "tenure_slots",
        "Slots by state: free, held, evicted, resting (in quarantine), kept (detached), foreign, unknown (not read).");
    MetricFamily since = make_gauge(
        "tenure_slot_held_since_timestamp_seconds", "When the holder made its claim, in seconds since 1970.");
    MetricFamily remaining = make_gauge(
        "tenure_slot_remaining_seconds", "How long the store keeps the slot taken unless its holder renews.");
    MetricFamily holder = make_gauge("tenure_slot_holder_info", "1; the label holder has the holder's worker name.");

    void add_slot(Labels const& labels, KeyState const& state, std::chrono::system_clock::time_point taken_at)
    {
        auto const who = holder_of(state);
        add(holder, with(labels, "holder", who.name), 1);
        if (state.remaining)
            add(remaining, labels, std::chrono::duration<double>(*state.remaining).count());
        // a holder's clock may be wrong, the store's is not asked for
        std::optional<std::chrono::system_clock::time_point> began;
        if (state.held_for)
            began = taken_at - *state.held_for;
        else if (who.claimed_at)
            began = *who.claimed_at;
        if (began)
            add(since, labels, std::chrono::duration<double>(began->time_since_epoch()).count());
    }

    void add_range(
        Labels const& labels, KeyRange const& range, KeyLook const& look, std::size_t first,
        std::chrono::system_clock::time_point taken_at)
    {
        auto const states = std::span(look.states).subspan(first, range.count);
        add(size, labels, static_cast<double>(states.size()));
        std::array<std::size_t, state_names.size()> counts{};
        std::size_t shown = 0;
        for (auto const& state : states) {
            auto const position = first + static_cast<std::size_t>(&state - states.data());
            auto const name =
                look.unread.contains(position) ? std::string_view("unknown") : state_name(holder_of(state));
            for (std::size_t index = 0; index < state_names.size(); ++index)
                counts[index] += name == state_names[index] ? 1U : 0U;
            if (name == "held" && shown++ < most_slots)
                add_slot(
                    range.numbered ? with(labels, "slot", std::to_string(range.first + state.index)) : labels, state,
                    taken_at);
        }
        for (std::size_t index = 0; index < state_names.size(); ++index)
            add(slots, with(labels, "state", state_names[index]), static_cast<double>(counts[index]));
    }

    [[nodiscard]] std::vector<MetricFamily> take() &&
    {
        std::vector<MetricFamily> all;
        for (auto* const family : {&up, &size, &slots, &since, &remaining, &holder})
            all.push_back(std::move(*family));
        return all;
    }
};

std::string_view kind_of(WatchedRange const& watched) noexcept
{
    return watched.is_election ? "election" : watched.range->numbered ? "pool" : "lock";
}

std::vector<MetricFamily> families_of(Store const& store, WatchedKeys const& keys)
{
    KeyFamilies families;
    Labels const of_store = with({}, "store", store.describe());
    add(families.up, of_store, keys.look.error ? 0 : 1);
    std::size_t first = 0;
    for (auto const& watched : keys.ranges) {
        if (keys.look.states.size() < first + watched.range->count)
            break;
        auto const labels = with(with(of_store, "kind", kind_of(watched)), "name", watched.range->prefix);
        families.add_range(labels, *watched.range, keys.look, first, keys.taken_at);
        first += watched.range->count;
    }
    return std::move(families).take();
}

} // namespace

std::string page_of(Store const& store)
{
    return tenure::metrics_page(metric_families({store}));
}

std::string page_of(Store const& store, WatchedKeys const& keys)
{
    auto all = metric_families({store});
    auto more = families_of(store, keys);
    std::ranges::move(more, std::back_inserter(all));
    return tenure::metrics_page(all);
}

} // namespace tenure::tool
