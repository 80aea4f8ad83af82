// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "name_counters.hpp"

namespace tenure::engine
{

Losses LossCounts::snapshot() const noexcept
{
    Losses all;
    for (std::size_t reason = 0; reason < counts_.size(); ++reason)
        all.by_reason[reason] = counts_[reason].load(std::memory_order_relaxed);
    return all;
}

void NameCounters::copy_to(NameMetrics& metrics) const noexcept
{
    constexpr auto relaxed = std::memory_order_relaxed;
    metrics.ttl = std::chrono::milliseconds(ttl.load(relaxed));
    metrics.held = held.load(relaxed);
    metrics.waiting = waiting.load(relaxed);
    metrics.busy = busy.load(relaxed);
    metrics.cancelled = cancelled.load(relaxed);
    metrics.failed = failed.load(relaxed);
    metrics.lost = lost.snapshot();
    metrics.waiting_time = waiting_time.snapshot();
    metrics.holding_time = holding_time.snapshot();
    metrics.hand_over = hand_over.snapshot();
    metrics.renewal_margin = renewal_margin.snapshot();
}

NameTable::Index NameTable::find_or_make(KeyRange const& range, std::chrono::milliseconds ttl)
{
    auto const kind = range.shares     ? NameMetrics::Kind::shares
                      : range.numbered ? NameMetrics::Kind::pool
                                       : NameMetrics::Kind::lock;
    std::lock_guard const lock(mutex_);
    auto index = other;
    if (auto const found = indices_.find({kind, range.prefix}); found != indices_.end())
        index = found->second;
    else if (indices_.size() < other)
        index = static_cast<Index>(indices_.size());
    auto& counters = counters_[index];
    if (!counters)
        counters = std::make_unique<NameCounters>();
    if (index != other)
        indices_.emplace(std::pair(kind, range.prefix), index);
    counters->ttl.store(ttl.count(), std::memory_order_relaxed);
    return index;
}

std::vector<NameMetrics> NameTable::snapshot() const
{
    std::lock_guard const lock(mutex_);
    std::vector<NameMetrics> all(indices_.size());
    for (auto const& [name, index] : indices_) {
        all[index].kind = name.first;
        all[index].name = name.second;
        counters_[index]->copy_to(all[index]);
    }
    if (counters_[other]) {
        all.emplace_back().kind = NameMetrics::Kind::other;
        counters_[other]->copy_to(all.back());
    }
    return all;
}

} // namespace tenure::engine
