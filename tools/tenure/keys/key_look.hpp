// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/store.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

/** The answer of a store about keys. */
struct KeyLook {
    /// no key could be read
    error_code error;
    /// one for each key, in the order of the ranges; empty if there was an error
    std::vector<KeyState> states;
    /// keys that could not be read, although others could: their positions among the states, and why
    std::map<std::size_t, std::string> unread = {};
};

/** Queries the holders of the keys, until the slot's signal cancels it. */
[[nodiscard]] asio::awaitable<KeyLook>
look_at_keys(Store store, std::vector<KeyRangePtr> ranges, asio::cancellation_slot slot);
/** The same, which gives up after the limit with asio::error::operation_aborted. */
[[nodiscard]] asio::awaitable<KeyLook>
look_at_keys(Store store, std::vector<KeyRangePtr> ranges, std::chrono::milliseconds limit);
/** The same for one lock. */
[[nodiscard]] asio::awaitable<KeyLook> look_at_lock(Store store, std::string key, std::chrono::milliseconds limit);

/** Queries each key separately, many at a time. Keys without an answer at the limit are unread. */
[[nodiscard]] asio::awaitable<KeyLook>
look_at_all(Store store, std::vector<KeyRangePtr> ranges, std::chrono::milliseconds limit);

/** The look after one that has failed: queries each key separately, many at a time, so that a key that cannot be read
 * hides no other. Keys without an answer at the limit are unread.
 *  @param failure  the result if there is only one key, or none can be read */
[[nodiscard]] asio::awaitable<KeyLook>
look_at_each_key(Store store, std::vector<KeyRangePtr> ranges, error_code failure, std::chrono::milliseconds limit);

} // namespace tenure::tool
