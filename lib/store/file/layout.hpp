// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What the files of a store contain, in the byte order of the machine. docs/integrators/file-format.md has the rules.
#pragma once

#include "files/holder.hpp"

#include <tenure/key_range.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::file
{

/** One of the two copies of the record of a key or of a place. */
struct Record {
    /// of what follows, up to the end of the value
    std::uint64_t checksum = 0;
    /// 0: never written
    std::uint64_t sequence = 0;
    /// the last fencing token of the key
    std::uint64_t token = 0;
    /// the number in the holder's cell; another number there: the claim has ended
    std::uint64_t claim = 0;
    BootTime granted = 0;
    /// end of a key that no holder renews (resting, kept); 0: the holder's cell has the end
    BootTime until = 0;
    /// nanoseconds of quarantine, which the end in the cell includes
    std::int64_t reuse_after = 0;
    HolderId holder = {};
    /// the cell in the holder's file
    std::uint32_t cell = 0;
    /// of a place: its share of the key
    std::uint32_t weight = 1;
    std::uint32_t capacity = 1;
    /// 0: a place that waits
    std::uint16_t holds = 1;
    /// 0: the key is free
    std::uint16_t length = 0;
    /// the owner, or its mark and last owner (store/ended_claim.hpp)
    std::array<char, 424> text{};

    [[nodiscard]] std::string_view value() const noexcept { return {text.data(), length}; }
    void set_value(std::string_view value) noexcept;
    /** Ends the claim. @param value  empty: the key is free */
    void end(std::string_view value = {}, BootTime end = 0) noexcept;
    [[nodiscard]] std::uint64_t sum() const noexcept;
};
static_assert(sizeof(Record) == 512);

/** The two copies of a record, as they lie in the file. */
using RecordPair = std::array<Record, 2>;
/** The newer whole copy, or an empty record if both are damaged. */
[[nodiscard]] Record const& current(RecordPair const& pair) noexcept;

/** A store that watches or waits for keys of a range file. */
struct LineEntry {
    HolderId holder = {};
    /// the name by which the store knows this entry
    std::uint64_t watch = 0;
    /// place in the line, the lowest first; 0: not in line
    std::int64_t ticket = 0;
    /// the slot of a single key, or `pool_line`
    std::uint32_t line = 0;
    /// 0: a waiter, 1: an observer
    std::uint32_t observes = 0;
};
constexpr std::uint32_t pool_line = 0xffffffff;

/** The beginning of a range file; the entries follow. */
struct LineHeader {
    std::array<char, 8> magic{'t', 'e', 'n', 'u', 'r', 'e', 'r', '1'};
    std::int64_t last_ticket = 0;
    std::uint64_t entries = 0;
    std::uint64_t reserved = 0;
};
constexpr std::int64_t records_at = 65536;
constexpr std::size_t most_entries = (records_at - sizeof(LineHeader)) / sizeof(LineEntry);
constexpr Area line_area{0, records_at};

/** Keys of a range whose records lie side by side. */
struct Segment {
    std::string stem;
    /// 0: the stem itself; n + 1: the stem and the number n
    std::uint32_t slot = 0;
    std::uint32_t count = 1;
    /// position of the first key in the range
    std::uint32_t index = 0;

    [[nodiscard]] Area area() const noexcept { return {record_at(slot), record_at(count) - record_at(0)}; }
    static constexpr std::int64_t record_at(std::uint32_t slot) noexcept
    {
        return records_at + std::int64_t{slot} * static_cast<std::int64_t>(sizeof(RecordPair));
    }
};

/** Where the keys of the range are. A key has one place, whether a pool names it or a lock. */
[[nodiscard]] std::vector<Segment> segments_of(KeyRange const& range);
/** Where one key of the range is. */
[[nodiscard]] Segment place_of(KeyRange const& range, std::uint32_t index);
/** Where the places of a key are: side by side in a file of their own. */
[[nodiscard]] Segment places_of(std::string const& key);
/** True for the stem of `places_of`. */
[[nodiscard]] bool has_places(std::string_view stem) noexcept;
/** The file of the line of waiters of a range, and as its slot the number of that line. */
[[nodiscard]] Segment line_of(KeyRange const& range);

} // namespace tenure::file
