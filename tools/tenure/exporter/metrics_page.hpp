// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "keys/key_look.hpp"

#include <tenure/key_range.hpp>
#include <tenure/store.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace tenure::tool
{

/** Keys whose holders are shown. */
struct WatchedRange {
    KeyRangePtr range;
    /// a lock whose holder leads
    bool is_election = false;
};

/** An exporter's observations of its keys. */
struct WatchedKeys {
    std::vector<WatchedRange> ranges;
    KeyLook look;
    std::chrono::system_clock::time_point taken_at;
};

/** The page /metrics of this program's store. */
[[nodiscard]] std::string page_of(Store const& store);

/** The same, and the metrics of keys that the program watches. */
[[nodiscard]] std::string page_of(Store const& store, WatchedKeys const& keys);

} // namespace tenure::tool
