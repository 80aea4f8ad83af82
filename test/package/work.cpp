// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// See check_work.cmake.
#include <tenure/tenure.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <utility>
#include <vector>

namespace asio = boost::asio;

asio::awaitable<void> use(tenure::SlotPool pool, tenure::Slot slot, tenure::Lease lease)
{
#if MISTAKE == 0
    co_await tenure::async_with_lease(std::move(lease), [](tenure::Lease&) -> asio::awaitable<int> { co_return 1; });
    co_await tenure::async_run(pool, [](tenure::Slot&) -> asio::awaitable<void> { co_return; });
    // the same wait in both forms
    tenure::Slot other = co_await pool.async_acquire(std::chrono::duration<double>(1.5), tenure::with_details());
    other = co_await pool.async_acquire(tenure::AcquireOptions{.wait = std::chrono::duration<double>(1.5)});
    // another deferred operation, whose result is passed on
    auto const look = [&](tenure::Slot&) { return pool.async_inspect(asio::deferred); };
    std::vector<tenure::KeyState> const seen = co_await tenure::async_with_lease(std::move(slot), look);
#elif MISTAKE == 1
    co_await tenure::async_with_lease(std::move(slot), [](tenure::Slot&) {});
#elif MISTAKE == 2
    co_await tenure::async_with_lease(
        std::move(lease), [](int) -> asio::awaitable<void> { co_return; }, asio::use_awaitable);
#elif MISTAKE == 3
    co_await tenure::async_run(pool, [](tenure::Slot&) { return 1; });
#elif MISTAKE == 4
    tenure::async_run(pool, [](tenure::Slot&) -> asio::awaitable<int> { co_return 1; }, asio::detached);
    co_return;
#elif MISTAKE == 5
    co_await lease.async_release(5);
#elif MISTAKE == 6
    co_await pool.async_acquire(tenure::AcquireOptions{}, std::chrono::seconds(5));
#elif MISTAKE == 7
    co_await pool.async_acquire("5s");
#elif MISTAKE == 8
    co_await pool.async_try_acquire(tenure::StoreOptions{});
#elif MISTAKE == 9
    pool.async_acquire([](tenure::error_code) {});
    co_return;
#elif MISTAKE == 10
    pool.async_acquire(std::chrono::seconds(5), [](tenure::error_code, tenure::Lease) {});
    co_return;
#else
    tenure::async_run(pool, [](tenure::Slot&) -> asio::awaitable<void> { co_return; }, [](tenure::error_code) {});
    co_return;
#endif
}
