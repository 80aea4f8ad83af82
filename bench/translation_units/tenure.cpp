// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/tenure.hpp>

boost::asio::awaitable<void> work(tenure::SlotPool const& pool)
{
    auto const slot = co_await pool.async_acquire();
}
