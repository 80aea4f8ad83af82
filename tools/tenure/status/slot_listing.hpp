// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/key_range.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tenure::tool
{

/** The listing of `tenure status`, a snapshot of a store. */
struct SlotListing {
    std::string store;
    /// one pool, or one or several locks
    std::vector<KeyRangePtr> ranges;
    /// of all slots of the pool, or of each lock
    std::vector<KeyState> states;
    std::chrono::system_clock::time_point taken_at;
    /// why the store could not tell of a key, by its position among the states
    std::map<std::size_t, std::string> unread = {};
};

/** A table for a person. Free slots are shown, unless there are many: then their number. */
[[nodiscard]] std::string as_table(SlotListing const& listing, bool color = false);

/** The same, a line at a time. */
[[nodiscard]] std::vector<std::string> table_lines(SlotListing const& listing, bool color);

/** One JSON object on one line. Numbers are milliseconds; fencing tokens are strings, for they outgrow what other
 * languages keep in a number. */
[[nodiscard]] std::string as_json(SlotListing const& listing);

} // namespace tenure::tool
