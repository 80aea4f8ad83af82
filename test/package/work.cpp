// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// See check_work.cmake.
#include <tenure/tenure.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;

asio::awaitable<void> use(tenure::SlotPool pool, tenure::Slot slot, tenure::Lease lease)
{
#if MISTAKE == 0
    co_await tenure::with_lease(std::move(lease), [](tenure::Lease&) -> asio::awaitable<int> { co_return 1; });
    co_await pool.async_run([](tenure::Slot&) -> asio::awaitable<void> { co_return; });
#elif MISTAKE == 1
    co_await tenure::with_lease(std::move(slot), [](tenure::Slot&) {});
#elif MISTAKE == 2
    co_await tenure::with_lease(std::move(lease), [](int) -> asio::awaitable<void> { co_return; }, asio::use_awaitable);
#elif MISTAKE == 3
    co_await pool.async_run([](tenure::Slot&) { return 1; });
#else
    pool.async_run([](tenure::Slot&) -> asio::awaitable<int> { co_return 1; }, asio::detached);
    co_return;
#endif
}
