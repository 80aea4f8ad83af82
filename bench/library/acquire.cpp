// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "library/acquire.hpp"

#include "harness/stopwatch.hpp"
#include "library/session.hpp"

#include <boost/asio/as_tuple.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

constexpr std::chrono::milliseconds ttl{10'000};

asio::awaitable<void> measure_acquire(tenure::Lock lock, unsigned times, std::vector<double>& micros)
{
    auto const warm_up = times / 10;
    for (unsigned time = 0; time < warm_up + times; ++time) {
        auto const begin = Steady::now();
        auto lease = co_await lock.async_acquire();
        if (time >= warm_up)
            micros.push_back(microseconds_since(begin));
        co_await release(lease);
    }
}

asio::awaitable<void> measure_busy(
    tenure::Store store, std::string url, tenure::LockConfig config, unsigned times, std::vector<double>& micros)
{
    auto const other = tenure::open_store(store.get_executor(), url, store_options());
    tenure::Lock const held{other, config};
    auto lease = co_await held.async_acquire();
    tenure::Lock const wanted{store, config};
    auto const warm_up = times / 10;
    for (unsigned time = 0; time < warm_up + times; ++time) {
        auto const begin = Steady::now();
        auto const [error, never] =
            co_await wanted.async_acquire({.wait = std::chrono::milliseconds(0)}, asio::as_tuple(asio::deferred));
        if (time >= warm_up)
            micros.push_back(microseconds_since(begin));
        if (!error)
            throw std::runtime_error("the lock was not held");
    }
    co_await release(lease);
}

} // namespace

Measurement acquire_latency(std::string const& url, unsigned times, Features features)
{
    std::vector<double> micros;
    micros.reserve(times);
    run_session(url, [&](tenure::Store store) {
        tenure::Lock const lock{store, tenure::LockConfig{"bench:lock:0", ttl, lease_options(features)}};
        return measure_acquire(lock, times, micros);
    });
    return {median(micros)};
}

Measurement busy_latency(std::string const& url, unsigned times, Features features)
{
    std::vector<double> micros;
    run_session(url, [&](tenure::Store store) {
        return measure_busy(store, url, {"bench:lock:0", ttl, lease_options(features)}, times, micros);
    });
    return {median(micros)};
}

} // namespace bench::library
