// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/report.hpp"

#include <tenure/store.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

namespace asio = boost::asio;

/** The keys that `tenure run` waits for. */
struct Wait {
    Store store;
    /// one pool, or one or several locks
    std::vector<KeyRangePtr> ranges;
    /// milliseconds::max(): for ever
    std::chrono::milliseconds limit;
    /// for a person: `lock` or `semaphore`
    std::string_view noun = "lock";

    [[nodiscard]] bool is_for_slot() const noexcept { return ranges.front()->numbered; }
    /** `nightly`, `a, b` or `job:0..3`. */
    [[nodiscard]] std::string names() const;
    /** `the lock nightly`, `the locks a, b` or `a slot of job:0..3`. */
    [[nodiscard]] std::string describe() const;
    /** The holders of the keys, from the last answer of the store. */
    [[nodiscard]] std::string describe_holders(std::vector<KeyState> const& states) const;
};

/** After one second of waiting, reports the keys, their holders and the durations. */
[[nodiscard]] asio::awaitable<void> announce(Wait wait, Report report, std::shared_ptr<bool const> over);

/** Why a wait ended without a lease: who still holds it, and what to do. */
[[nodiscard]] asio::awaitable<std::string> explain_end(Wait wait);

} // namespace tenure::tool
