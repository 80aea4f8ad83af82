// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// What the files of a store contain (docs/integrators/file-format.md), in the byte order of the machine.
#pragma once

#include "runtime/descriptor.hpp"

#include <tenure/key_range.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::file
{

/// nanoseconds of the machine's CLOCK_BOOTTIME, which all its processes share
using BootTime = std::int64_t;

/** Names an open store: the names of its holder file and of its FIFO. */
struct HolderId {
    std::array<std::byte, 16> bytes{};

    /** 32 hexadecimal digits */
    [[nodiscard]] std::string text() const;
    friend auto operator<=>(HolderId const&, HolderId const&) = default;
};

/** One of the two copies of the record of a key. */
struct Record {
    /// of what follows, up to the end of the value
    std::uint64_t checksum = 0;
    /// 0: never written
    std::uint64_t sequence = 0;
    /// the last fencing token of the key
    std::uint64_t token = 0;
    /// the number that the cell of the holder must have; another number there: the claim has ended
    std::uint64_t claim = 0;
    BootTime granted = 0;
    /// end of a key that no holder renews (resting, kept); 0: the holder's cell has the end
    BootTime until = 0;
    /// nanoseconds of quarantine, which the end in the cell includes
    std::int64_t reuse_after = 0;
    HolderId holder = {};
    /// the cell in the holder's file
    std::uint32_t cell = 0;
    /// 0: the key is free
    std::uint16_t length = 0;
    /// the owner, or its mark and last owner (store/ended_claim.hpp)
    std::array<char, 434> text{};

    [[nodiscard]] std::string_view value() const noexcept { return {text.data(), length}; }
    /** @param value  at most `longest_value` */
    void set_value(std::string_view value) noexcept;
    /** True if the copy is whole. */
    [[nodiscard]] bool valid() const noexcept { return length <= text.size() && checksum == sum() && sequence != 0; }
    void seal() noexcept { checksum = sum(); }
    [[nodiscard]] std::uint64_t sum() const noexcept;
};
static_assert(sizeof(Record) == 512);
constexpr std::size_t longest_value = sizeof(Record::text);

/** The two copies of a record, as they lie in the file. */
using RecordPair = std::array<Record, 2>;
/** The newer valid copy; an empty record if there is none. */
[[nodiscard]] Record const& current(RecordPair const& pair) noexcept;

/** Says until when the holder has a key; written by the holder alone. */
struct Cell {
    std::uint64_t checksum = 0;
    /// 0: no claim
    std::uint64_t claim = 0;
    BootTime until = 0;
    std::uint64_t reserved = 0;

    [[nodiscard]] bool valid() const noexcept { return checksum == sum(); }
    void seal() noexcept { checksum = sum(); }
    [[nodiscard]] std::uint64_t sum() const noexcept;
};
/** The place of a cell in a holder file. */
constexpr std::int64_t cell_at(std::uint32_t cell) noexcept
{
    return 512 + std::int64_t{cell} * 32;
}

/** The beginning of a holder file, for people and for the search for a process that keeps a lock. */
struct HolderHeader {
    std::array<char, 8> magic{'t', 'e', 'n', 'u', 'r', 'e', 'h', '1'};
    std::int32_t pid = 0;
    std::uint32_t reserved = 0;
    /// inode of the range file that this store locks now, or has locked last
    std::uint64_t locks = 0;
    std::array<char, 104> program{};
};

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

/** What a store writes into the FIFO of another one. */
struct Wake {
    std::uint64_t watch = 0;
    /// a `WatchEvent`: 1 hint, 2 our turn, 3 the turn of others
    std::uint64_t event = 0;
};

constexpr Area line_area{0, records_at};
/** The records of `count` slots. */
[[nodiscard]] constexpr Area records(std::uint32_t slot, std::uint32_t count) noexcept
{
    constexpr auto stride = static_cast<std::int64_t>(sizeof(RecordPair));
    return {records_at + slot * stride, count * stride};
}

/** Keys of a range whose records lie side by side. */
struct Segment {
    std::string stem;
    /// 0: the stem itself; n + 1: the stem and the number n
    std::uint32_t slot = 0;
    std::uint32_t count = 1;
    /// position of the first key in the range
    std::uint32_t index = 0;

    [[nodiscard]] Area area() const noexcept { return records(slot, count); }
};

/** Where the keys of the range are. A key has one place, whether a pool names it or a lock. */
[[nodiscard]] std::vector<Segment> segments_of(KeyRange const& range);
/** Where one key of the range is. */
[[nodiscard]] Segment place_of(KeyRange const& range, std::uint32_t index);

/** The file and the number of the line of waiters of a range. */
struct LinePlace {
    std::string stem;
    std::uint32_t line = 0;
    friend bool operator==(LinePlace const&, LinePlace const&) = default;
};
[[nodiscard]] LinePlace line_of(KeyRange const& range);

/** The name of a stem's range file. */
[[nodiscard]] std::string file_name(std::string_view stem);

} // namespace tenure::file
