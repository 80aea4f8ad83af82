// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "library/session.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

asio::awaitable<void> take_last(tenure::SlotPool pool, unsigned times, std::vector<double>& all)
{
    auto const warm_up = times / 10;
    for (unsigned time = 0; time < warm_up + times; ++time) {
        auto const begin = Steady::now();
        auto slot = co_await pool.async_acquire();
        if (time >= warm_up)
            all.push_back(microseconds_since(begin));
        if (slot.id() + 1 != pool.size())
            throw std::runtime_error("the last slot was not the only free one");
        co_await release(slot);
    }
}

tenure::SlotPool make_pool(tenure::Store const& store, unsigned keys, Features features)
{
    return {store, {"thread_id_lock:", keys, std::chrono::milliseconds{10'000}, lease_options(features)}};
}

asio::awaitable<void> hold_most(tenure::SlotPool pool, int ready)
{
    std::vector<tenure::Slot> slots;
    while (slots.size() + 1 < pool.size()) {
        auto slot = co_await pool.async_acquire();
        slots.push_back(std::move(slot));
    }
    static_cast<void>(!::write(ready, "", 1));
    asio::steady_timer never(co_await asio::this_coro::executor, Steady::time_point::max());
    co_await never.async_wait(asio::deferred);
}

} // namespace

void hold_all_but_last(std::string const& url, unsigned keys, int ready)
{
    run_session(url, [&](tenure::Store store) { return hold_most(make_pool(store, keys, by_default), ready); });
}

Measurement first_free(std::string const& url, unsigned keys, unsigned times, Features features)
{
    std::vector<double> all;
    run_session(url, [&](tenure::Store store) { return take_last(make_pool(store, keys, features), times, all); });
    return {median(all)};
}

} // namespace bench::library
