// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/auditor.hpp"

#include <tenure/lease.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdint>

namespace tenure::test
{

/** For leases of this tree's library and of older ones. Is in the auditor's cell until that instant (ns of
 * CLOCK_BOOTTIME), or until the token fires. */
template <class Held>
boost::asio::awaitable<void> hold(Held const& lease, std::uint32_t cell, Auditor& auditor, std::int64_t until)
{
    boost::asio::steady_timer timer{co_await boost::asio::this_coro::executor};
    auto const entry = auditor.enter(cell, lease.valid_until().time_since_epoch().count(), lease.fencing_token());
    while (boottime_ns() < until) {
        // In this order: a validity that was read after the token fired would not count.
        auto const valid_until = lease.valid_until().time_since_epoch().count();
        if (lease.token().cancelled())
            break;
        auditor.extend(entry, valid_until);
        timer.expires_after(std::chrono::milliseconds{2});
        co_await timer.async_wait(boost::asio::use_awaitable);
    }
    auditor.leave(entry);
}

} // namespace tenure::test
