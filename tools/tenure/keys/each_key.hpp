// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/store.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tenure::tool
{

/** The answers of a store that was asked about each key separately: one that it cannot read hides no other. */
struct EachKey {
    /// one for each key, in the order of the ranges; of an unread key only the index counts
    std::vector<KeyState> states;
    /// why a key could not be read, by its position among the states
    std::map<std::size_t, std::string> unread;

    [[nodiscard]] bool all_unread() const noexcept { return unread.size() == states.size(); }
};

/** Queries the keys, many at a time. Keys without an answer at the limit are unread. */
[[nodiscard]] asio::awaitable<EachKey>
look_at_each_key(Store store, std::vector<KeyRangePtr> ranges, std::chrono::milliseconds limit);

} // namespace tenure::tool
