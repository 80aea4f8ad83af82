// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// RangeCache: encoded keys, and surveys of a range.
#include "range_cache.hpp"

#include "store/redis/key_names.hpp"

#include <algorithm>
#include <utility>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// The encoding of larger ranges is not cached, because it takes more than about a megabyte.
constexpr std::uint32_t max_cached_count = 4 * max_keys_per_call;

// With fewer notes, a look at all of them is cheap.
constexpr std::size_t few = 64;

// Ranges up to this size are surveyed with every busy answer, which costs less than the call itself.
constexpr std::uint32_t small_range = 64;
// Minimum time between surveys of a larger range.
constexpr auto survey_pause = 250ms;

} // namespace

EncodedKeys encode_keys(KeyRange const& range, std::uint32_t first_index, std::uint32_t count)
{
    auto keys = std::make_shared<resp::EncodedArguments>();
    keys->reserve((range.prefix.size() + 20) * count);
    for (std::uint32_t i = 0; i < count; ++i)
        keys->add(resp::KeyOf{range, first_index + i});
    return keys;
}

EncodedKeys encode_fence_keys(KeyRange const& range, std::uint32_t first_index, std::uint32_t count)
{
    auto keys = std::make_shared<resp::EncodedArguments>();
    for (std::uint32_t i = 0; i < count; ++i)
        keys->add(fence_key(range.key(first_index + i)));
    return keys;
}

EncodedKeys RangeCache::keys(KeyRangePtr const& range, std::uint32_t page)
{
    auto const first = page * max_keys_per_call;
    auto const count = std::min(max_keys_per_call, range->count - first);
    if (range->count == 1 || range->count > max_cached_count)
        return encode_keys(*range, first, count);
    auto& cached = notes(range).pages;
    cached.resize(page_count(*range));
    if (cached[page] == nullptr)
        cached[page] = encode_keys(*range, first, count);
    return cached[page];
}

EncodedKeys RangeCache::part(KeyRangePtr const& range, std::uint32_t part)
{
    auto& cached = notes(range).parts;
    cached.resize((range->count + part_size - 1) / part_size);
    auto const first = part * part_size;
    if (cached[part] == nullptr)
        cached[part] = encode_keys(*range, first, std::min(part_size, range->count - first));
    return cached[part];
}

bool RangeCache::is_worth_a_gap_search(KeyRangePtr const& range)
{
    return range->count > 2 * part_size && page_count(*range) == 1 && notes(range).first_part_was_held;
}

void RangeCache::note_first_free(KeyRangePtr const& range, std::optional<std::uint32_t> index)
{
    if (range->count > 2 * part_size)
        notes(range).first_part_was_held = index && *index >= part_size;
}

RangeCache::Notes& RangeCache::notes(KeyRangePtr const& range)
{
    if (auto const known = notes_.find(range); known != notes_.end())
        return known->second;
    if (notes_.size() < few || notes_.size() >= sweep_at_) {
        std::erase_if(notes_, [](auto const& entry) { return entry.first.expired(); });
        sweep_at_ = 2 * notes_.size();
    }
    return notes_[range];
}

bool survey_is_due(RangeCache& ranges, ClaimRequest const& request, Instant now)
{
    // A key in quarantine becomes free sooner than the survey showed, and no message follows.
    auto const& range = request.range;
    if (range->count <= small_range || request.reuse_after > 0ms)
        return true;
    // The first attempt at a large range skips the survey: usually a key is free, and the next attempt follows soon.
    auto const& notes = ranges.notes(range);
    return notes.next_survey != Instant{} && now >= notes.next_survey;
}

Busy busy_reply(RangeCache& ranges, KeyRangePtr const& range, Instant now, std::optional<Survey> const& survey)
{
    Busy busy;
    if (survey)
        busy = {survey->earliest_expiry, survey->foreign == range->count};
    if (range->count <= small_range)
        return busy;
    auto& notes = ranges.notes(range);
    if (survey) {
        notes.next_survey = now + survey_pause;
        notes.earliest_expiry = survey->earliest_expiry ? now + *survey->earliest_expiry : Instant::min();
    } else {
        if (notes.next_survey == Instant{})
            notes.next_survey = now;
        if (notes.earliest_expiry > now)
            busy.earliest_expiry = std::chrono::ceil<std::chrono::milliseconds>(notes.earliest_expiry - now);
    }
    return busy;
}

} // namespace tenure::redis
