// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Checksums, and the places of keys.
#include "layout.hpp"

#include <algorithm>
#include <cstring>

namespace tenure::file
{

namespace
{

constexpr std::string_view digits = "0123456789abcdef";

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

Segment place_of_key(std::string key)
{
    constexpr std::uint32_t most_numbers = 1U << 20U;
    auto const run = key.find_last_not_of(digits.substr(0, 10)) + 1; // npos + 1 is 0
    // without leading zeros, so that each key has one place
    auto const number = std::min(key.find_first_not_of('0', run), key.size() - 1);
    if (run == key.size() || key.size() - number > 7)
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
    for (auto const byte : bytes)
        text += {digits[static_cast<unsigned>(byte) >> 4U], digits[static_cast<unsigned>(byte) & 15U]};
    return text;
}

void Record::set_value(std::string_view value) noexcept
{
    text.fill(0);
    std::ranges::copy(value, text.begin());
    length = static_cast<std::uint16_t>(value.size());
}

std::uint64_t Record::sum() const noexcept
{
    auto const end = std::min(offsetof(Record, text) + length + 7, sizeof(Record));
    return file::sum(&sequence, end - sizeof(checksum));
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

std::uint64_t Cell::sum() const noexcept
{
    return file::sum(&claim, sizeof(claim) + sizeof(until));
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
    std::vector<Segment> segments{place_of(range, 0)};
    if (!range.numbered || is_stem(range.prefix)) {
        segments[0].count = range.count;
        return segments;
    }
    // The prefix ends in a number: slot 5 of `job1` is number 15 of `job`.
    for (std::uint32_t index = 1; index < range.count; ++index) {
        auto place = place_of(range, index);
        auto& last = segments.back();
        if (place.slot != 0 && last.stem == place.stem && last.slot + last.count == place.slot)
            ++last.count;
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
        auto const byte = static_cast<unsigned char>(c);
        if (plain)
            name += c;
        else
            name += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
    if (name.size() <= longest)
        return name;
    std::string padded(stem);
    padded.resize((stem.size() + 7) / 8 * 8);
    HolderId hash;
    auto const word = sum(padded.data(), padded.size());
    std::memcpy(hash.bytes.data(), &word, sizeof(word));
    return name.substr(0, longest) + "~" + hash.text();
}

} // namespace tenure::file
