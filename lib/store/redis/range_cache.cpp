// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "range_cache.hpp"

#include <algorithm>
#include <utility>

namespace tenure::redis
{

namespace
{

// Up to so many keys a range's encoding is kept: about a megabyte.
constexpr std::uint32_t max_cached_count = 4 * max_keys_per_call;

void add_keys(resp::EncodedArguments& keys, KeyRange const& range, std::uint32_t first_index, std::uint32_t count)
{
    keys.reserve((range.prefix.size() + 20) * count + 16);
    for (std::uint32_t i = 0; i < count; ++i)
        keys.add(range.key(first_index + i));
}

} // namespace

EncodedKeys encode_keys(KeyRange const& range, std::uint32_t first_index, std::uint32_t count)
{
    auto keys = std::make_shared<resp::EncodedArguments>();
    keys->add(count);
    add_keys(*keys, range, first_index, count);
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
    if (cached[part] == nullptr) {
        auto keys = std::make_shared<resp::EncodedArguments>();
        add_keys(*keys, *range, part * part_size, std::min(part_size, range->count - part * part_size));
        cached[part] = std::move(keys);
    }
    return cached[part];
}

RangeCache::Notes& RangeCache::notes(KeyRangePtr const& range)
{
    for (auto& entry : notes_)
        if (!entry.range.owner_before(range) && !range.owner_before(entry.range))
            return entry;
    std::erase_if(notes_, [](Notes const& entry) { return entry.range.expired(); });
    auto& entry = notes_.emplace_back();
    entry.range = range;
    return entry;
}

} // namespace tenure::redis
