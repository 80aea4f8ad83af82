// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "report.hpp"

#include <tenure/store.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace tenure::tool
{

/** What `tenure run` waits for. */
class Wait
{
public:
    /** @param limit  milliseconds::max(): for ever */
    Wait(Store store, KeyRangePtr range, std::chrono::milliseconds limit);

    [[nodiscard]] Store const& store() const noexcept { return store_; }
    [[nodiscard]] KeyRangePtr const& range() const noexcept { return range_; }
    [[nodiscard]] std::chrono::milliseconds limit() const noexcept { return limit_; }
    /** `the lock nightly` or `a slot of job:0..3`. */
    [[nodiscard]] std::string describe() const;

private:
    Store store_;
    KeyRangePtr range_;
    std::chrono::milliseconds limit_;
};

/** After one second, says what is waited for, who holds it and for how long, unless the wait is over by then. */
[[nodiscard]] asio::awaitable<void> announce(Wait wait, Report report, std::shared_ptr<bool const> over);

/** Why a wait ended without a lease: who still holds it, and what to do. */
[[nodiscard]] asio::awaitable<std::string> explain_end(Wait wait);

} // namespace tenure::tool
