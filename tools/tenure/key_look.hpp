// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/store.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <vector>

namespace tenure::tool
{

/** What a store answered about the keys of a range. */
struct KeyLook {
    error_code error;
    /// one for each key; empty if there was an error
    std::vector<KeyState> states;
};

/** Asks who holds the keys, and gives up after the limit, with asio::error::operation_aborted. */
[[nodiscard]] asio::awaitable<KeyLook> look_at_keys(Store store, KeyRangePtr range, std::chrono::milliseconds limit);

} // namespace tenure::tool
