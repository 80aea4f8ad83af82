// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "library/session.hpp"

#include <boost/asio/deferred.hpp>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

asio::awaitable<void> reenter(tenure::Store store, unsigned times, Measurement& result)
{
    tenure::ReentrantLock const lock{store, {.key = "bench:lock"}};
    tenure::Holder const holder;
    auto hold = co_await lock.async_acquire(holder, asio::deferred);
    auto const begin = Steady::now();
    for (unsigned round = 0; round < times; ++round) {
        auto again = co_await lock.async_acquire(holder, asio::deferred);
        co_await again.async_release(asio::deferred);
    }
    auto const released = microseconds_since(begin);
    auto const middle = Steady::now();
    for (unsigned round = 0; round < times; ++round)
        auto const again = co_await lock.async_acquire(holder, asio::deferred);
    result = {released * 1000 / times, microseconds_since(middle) * 1000 / times};
    co_await release(hold);
}

} // namespace

Measurement reentry(std::string const& url, unsigned times)
{
    Measurement result;
    run_session(url, [&](tenure::Store store) { return reenter(store, times, result); });
    return result;
}

} // namespace bench::library
