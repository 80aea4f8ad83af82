// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ViewCache: versions, and the age of an answer.
#include "view_cache.hpp"

#include "engine/machines/lease_terms.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::locks
{

namespace
{

using std::chrono::milliseconds;

/// the view is stale after this many refreshes without an answer
constexpr int tolerated_refreshes = 3;
constexpr milliseconds shortest_silence{3'000};
/// limit of the read that follows the expiry of a key
constexpr milliseconds time_for_an_answer{1'000};

} // namespace

ViewCache::ViewCache(Clock::duration refresh, Same same) noexcept
    : silence_(std::max<Clock::duration>(tolerated_refreshes * refresh, shortest_silence))
    , same_(same)
{
}

bool ViewCache::answered(std::vector<KeyState> keys, Instant asked, Instant now)
{
    auto const known = asked_.has_value();
    bool changed = !known || !std::ranges::equal(keys_, keys, same_);
    keys_ = std::move(keys);
    asked_ = asked;
    expiry_ = Instant::max();
    for (auto const& key : keys_)
        // A store that counts in seconds, or frees a key late, reports no time: the next refresh finds the key free.
        if (key.remaining && *key.remaining > milliseconds{0})
            expiry_ = std::min(expiry_, engine::later(now, *key.remaining));
    relied_on_until_ = asked + silence_;
    relied_on_until_ = std::min(relied_on_until_, engine::later(expiry_, time_for_an_answer));
    bool const stale = now >= relied_on_until_;
    changed = std::exchange(stale_, stale) != stale || changed;
    version_ += changed ? 1 : 0;
    return changed;
}

bool ViewCache::pass(Instant now) noexcept
{
    if (now < stale_at())
        return false;
    stale_ = true;
    ++version_;
    return true;
}

ViewSnapshot ViewCache::snapshot(Instant now) const
{
    ViewSnapshot snapshot;
    snapshot.version = version_;
    snapshot.stale = stale_;
    if (!asked_)
        return snapshot;
    auto const age = now - *asked_;
    snapshot.age = age;
    snapshot.keys = keys_;
    for (auto& key : snapshot.keys) {
        if (key.remaining)
            *key.remaining = std::max(std::chrono::floor<milliseconds>(*key.remaining - age), milliseconds{0});
        for (auto& place : key.places)
            place.remaining = std::max(std::chrono::floor<milliseconds>(place.remaining - age), milliseconds{0});
        if (key.held_for)
            *key.held_for += std::chrono::floor<milliseconds>(age);
    }
    return snapshot;
}

} // namespace tenure::locks
