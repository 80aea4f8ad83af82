// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Checksums, and the places of keys.
#include "layout.hpp"

#include <algorithm>
#include <cstring>

namespace tenure::file
{

namespace
{

constexpr std::string_view digits = "0123456789";
constexpr std::string_view hexadecimal = "0123456789abcdef";
constexpr std::uint32_t most_numbers = 1U << 20U;

/** FNV-1a over words of 8 bytes; the bytes after the last whole word are ignored. */
std::uint64_t sum(void const* data, std::size_t bytes) noexcept
{
    std::uint64_t hash = 14695981039346656037U;
    for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, static_cast<char const*>(data) + at, 8);
        hash = (hash ^ word) * 1099511628211U;
        hash ^= hash >> 32U;
    }
    return hash;
}

/** Of all that follows the checksum, up to the end of the value. */
std::uint64_t sum_of(Record const& record) noexcept
{
    auto const end = offsetof(Record, text) + record.length + 7;
    return sum(&record.sequence, std::min(end, sizeof(Record)) - sizeof(record.checksum));
}

std::uint64_t sum_of(Cell const& cell) noexcept
{
    return sum(&cell.claim, sizeof(cell.claim) + sizeof(cell.until));
}

Segment place_of_key(std::string key)
{
    auto const run = key.find_last_not_of(digits) + 1; // npos + 1 is 0
    if (run == key.size())
        return {std::move(key)};
    // Without leading zeros, so that each key has one place
    auto const number = std::min(key.find_first_not_of('0', run), key.size() - 1);
    if (key.size() - number > 7)
        return {std::move(key)};
    auto const value = static_cast<std::uint32_t>(std::stoul(key.substr(number)));
    if (value >= most_numbers)
        return {std::move(key)};
    key.resize(number);
    return {std::move(key), value + 1};
}

/** True if all keys of a pool with this prefix have the prefix as their stem. */
bool is_stem(std::string const& prefix)
{
    return place_of_key(prefix + "1").stem == prefix;
}

} // namespace

std::string HolderId::text() const
{
    std::string text;
    for (auto const byte : bytes) {
        text += hexadecimal[static_cast<unsigned>(byte) >> 4U];
        text += hexadecimal[static_cast<unsigned>(byte) & 15U];
    }
    return text;
}

void Record::set_value(std::string_view value) noexcept
{
    text.fill(0);
    std::ranges::copy(value, text.begin());
    length = static_cast<std::uint16_t>(value.size());
}

bool Record::valid() const noexcept
{
    return sequence != 0 && length <= text.size() && checksum == sum_of(*this);
}

void Record::seal() noexcept
{
    checksum = sum_of(*this);
}

Record const& current(RecordPair const& pair) noexcept
{
    static constexpr Record empty;
    auto const& newer = pair[0].sequence >= pair[1].sequence ? pair[0] : pair[1];
    auto const& older = &newer == pair.data() ? pair[1] : pair[0];
    if (newer.valid())
        return newer;
    return older.valid() ? older : empty;
}

bool Cell::valid() const noexcept
{
    return checksum == sum_of(*this);
}

void Cell::seal() noexcept
{
    checksum = sum_of(*this);
}

Segment place_of(KeyRange const& range, std::uint32_t index)
{
    if (range.numbered && is_stem(range.prefix))
        return {range.prefix, range.first + index + 1, 1, index};
    auto place = place_of_key(range.key(index));
    place.index = index;
    return place;
}

std::vector<Segment> segments_of(KeyRange const& range)
{
    if (!range.numbered || is_stem(range.prefix)) {
        auto all = place_of(range, 0);
        all.count = range.count;
        return {std::move(all)};
    }
    // The prefix ends in a number: slot 5 of `job1` is number 15 of `job`.
    std::vector<Segment> segments;
    for (std::uint32_t index = 0; index < range.count; ++index) {
        auto place = place_of(range, index);
        if (!segments.empty() && place.slot != 0 && segments.back().stem == place.stem &&
            segments.back().slot + segments.back().count == place.slot)
            ++segments.back().count;
        else
            segments.push_back(std::move(place));
    }
    return segments;
}

LinePlace line_of(KeyRange const& range)
{
    if (range.numbered)
        return {range.prefix, pool_line};
    auto place = place_of(range, 0);
    return {std::move(place.stem), place.slot};
}

std::string file_name(std::string_view stem)
{
    constexpr std::size_t longest = 180;
    std::string name = "=";
    for (char const c : stem) {
        bool const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view("-_.:").find(c) != std::string_view::npos;
        if (plain) {
            name += c;
            continue;
        }
        auto const byte = static_cast<unsigned char>(c);
        name += {'%', hexadecimal[byte >> 4U], hexadecimal[byte & 15U]};
    }
    if (name.size() <= longest)
        return name;
    std::string padded(stem);
    padded.resize((stem.size() + 7) / 8 * 8);
    auto const hash = sum(padded.data(), padded.size());
    name.resize(longest);
    name += '~';
    for (unsigned shift = 64; shift > 0;) {
        shift -= 4;
        name += hexadecimal[hash >> shift & 15U];
    }
    return name;
}

} // namespace tenure::file
