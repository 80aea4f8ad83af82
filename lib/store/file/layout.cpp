// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Checksums, and the places of keys.
#include "layout.hpp"

#include "store/share_sum.hpp"

#include <algorithm>

namespace tenure::file
{

namespace
{

Segment place_of_key(std::string key)
{
    constexpr std::uint32_t most_numbers = 1U << 20U;
    auto const run = key.find_last_not_of("0123456789") + 1; // npos + 1 is 0
    // without leading zeros, so that each key has one place
    auto const number = std::min(key.find_first_not_of('0', run), key.size() - 1);
    if (run == key.size() || key.size() - number > 7 || std::stoul(key.substr(number)) >= most_numbers)
        return {std::move(key)};
    auto const slot = static_cast<std::uint32_t>(std::stoul(key.substr(number)) + 1);
    key.resize(number);
    return {std::move(key), slot};
}

} // namespace

void Record::set_value(std::string_view value) noexcept
{
    text.fill(0);
    std::ranges::copy(value, text.begin());
    length = static_cast<std::uint16_t>(value.size());
}

void Record::end(std::string_view value, BootTime end) noexcept
{
    claim = 0;
    until = end;
    reuse_after = 0;
    holder = {};
    cell = 0;
    set_value(value);
}

std::uint64_t Record::sum() const noexcept
{
    auto const end = std::min(offsetof(Record, text) + length + 7, sizeof(Record));
    return tenure::checksum(&sequence, end - sizeof(checksum));
}

Record const& current(RecordPair const& pair) noexcept
{
    static constexpr Record empty;
    Record const* newest = &empty;
    for (auto const& copy : pair)
        if (copy.sequence > newest->sequence && copy.length <= copy.text.size() && is_whole(copy))
            newest = &copy;
    return *newest;
}

Segment place_of(KeyRange const& range, std::uint32_t index)
{
    auto place = place_of_key(range.key(index));
    place.index = index;
    return place;
}

std::vector<Segment> segments_of(KeyRange const& range)
{
    std::vector<Segment> segments{place_of(range, 0)};
    if (!range.numbered || segments[0].stem == range.prefix) {
        segments[0].count = range.count;
        return segments;
    }
    // The prefix ends in a number: slot 5 of `job1` is number 15 of `job`.
    for (std::uint32_t index = 1; index < range.count; ++index)
        segments.push_back(place_of(range, index));
    return segments;
}

Segment places_of(std::string const& key)
{
    return {key + '\n', 0, most_places}; // no key has a line break
}

bool has_places(std::string_view stem) noexcept
{
    return stem.ends_with('\n');
}

Segment line_of(KeyRange const& range)
{
    if (range.shares)
        return {places_of(range.prefix).stem};
    return range.numbered ? Segment{range.prefix, pool_line} : place_of(range, 0);
}

} // namespace tenure::file
