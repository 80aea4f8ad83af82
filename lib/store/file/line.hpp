// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "other_holders.hpp"
#include "range_file.hpp"

#include <tenure/backend/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tenure::file
{

/** `LineEntry::role` */
constexpr std::uint8_t role_of(WatchAs as) noexcept
{
    return as == WatchAs::waiter ? 1 : 2;
}

/** The stores that wait for keys of a range file, or watch them. Changes need the lock of `line_area`; the line is only
 *  a hint about the order, so a reader needs none. */
class Line
{
public:
    /** Reads the entries. */
    explicit Line(RangeFilePtr file);

    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
    [[nodiscard]] std::vector<LineEntry> const& entries() const noexcept { return entries_; }
    /** The entry of a store, or null. */
    [[nodiscard]] LineEntry const* find(HolderId const& holder, std::uint32_t line, std::uint8_t role) const noexcept;

    /** Adds an entry if the store has none. False: the line is full, or cannot be written. */
    [[nodiscard]] bool add(HolderId const& holder, std::uint32_t line, std::uint8_t role);
    void remove(HolderId const& holder, std::uint32_t line, std::uint8_t role);
    /** Puts the store at the end of the line or in front of it. No effect if it is in line already. */
    void join(HolderId const& holder, std::uint32_t line, bool in_front);
    void leave(HolderId const& holder, std::uint32_t line);

    /** Stores to wake after a release. */
    struct News {
        std::vector<HolderId> named;
        std::vector<HolderId> wake;
    };
    struct Release {
        std::uint32_t line = 0;
        std::vector<std::uint32_t> slots{};
        /// how many stores it names
        std::size_t names = 0;
        bool observers_only = false;
    };
    /** Notes the release in the entries of the stores that it concerns.
     *  @param alive  whether a store still exists; the entries of others are removed */
    [[nodiscard]] News released(Release const& release, std::function<bool(HolderId const&)> const& alive);

private:
    [[nodiscard]] std::size_t position(HolderId const& holder, std::uint32_t line, std::uint8_t role) const noexcept;
    [[nodiscard]] bool write(std::size_t position) const;
    void erase(std::size_t position);
    [[nodiscard]] std::int64_t next_ticket();

    RangeFilePtr file_;
    std::int64_t last_ticket_ = 0;
    std::vector<LineEntry> entries_;
};

} // namespace tenure::file
