// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/key_range.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tenure::tool
{

/** The listing of `tenure status` and `tenure list`, a snapshot of a store. */
struct SlotListing {
    std::string store;
    /// one pool, or any number of locks
    std::vector<KeyRangePtr> ranges;
    /// of all slots of the pool, or of each lock
    std::vector<KeyState> states;
    std::chrono::system_clock::time_point taken_at;
    /// why the store could not tell of a key, by its position among the states
    std::map<std::size_t, std::string> unread = {};
    /// the name of the whole; empty: the names of the ranges
    std::string title = {};
};

/** How a listing is shown to a person. */
struct TableLook {
    bool color = false;
    /// columns of the terminal; 0: nothing is shortened
    std::size_t width = 0;
    /// also free slots, however many there are
    bool all = false;
};

/** A table for a person. Free slots are shown, unless there are many: then their number. */
[[nodiscard]] std::string as_table(SlotListing const& listing, TableLook look = {});

/** The lines above the table: which keys, and how many of them are taken. @param width  as `TableLook::width` */
[[nodiscard]] std::vector<std::string> summary_lines(SlotListing const& listing, std::size_t width);

/** The table with these lines above it. */
[[nodiscard]] std::vector<std::string> table_lines(SlotListing const& listing, TableLook look);

/** One JSON object on one line. Numbers are milliseconds; fencing tokens are strings, for they outgrow what other
 * languages keep in a number. */
[[nodiscard]] std::string as_json(SlotListing const& listing);
/** The same as an object that may get more members. */
[[nodiscard]] boost::json::object json_of(SlotListing const& listing);

} // namespace tenure::tool
