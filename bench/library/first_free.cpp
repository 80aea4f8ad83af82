// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "library/session.hpp"

#include <stdexcept>

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

} // namespace

Measurement first_free(std::string const& url, unsigned keys, unsigned times, Features features)
{
    std::vector<double> all;
    run_session(url, [&](tenure::Store store) {
        tenure::SlotPool pool{
            store, {"thread_id_lock:", keys, std::chrono::milliseconds{10'000}, lease_options(features)}};
        return take_last(std::move(pool), times, all);
    });
    return {median(all)};
}

} // namespace bench::library
