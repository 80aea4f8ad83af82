// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/control.hpp"
#include "library/session.hpp"
#include "library/workloads.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

/// long enough that the next waiter has nothing left to do but wait
constexpr std::chrono::milliseconds hold{1};

/** The state that all coroutines of a run share. */
struct Round {
    /// microseconds of each hand-over
    std::vector<double> times;
    /// just before the last release
    std::int64_t released = 0;
    /// number of the store that released
    unsigned last_holder = 0;
    bool measuring = false;
    bool stopping = false;
    /// coroutines that have not ended
    unsigned running = 0;
    std::exception_ptr failure;
};

asio::awaitable<void> take_and_give(tenure::Lock lock, unsigned number, Round& round)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    tenure::AcquireOptions options;
    options.wait = std::chrono::milliseconds::max();
    while (!round.stopping) {
        auto lease = co_await lock.async_acquire(options);
        auto const granted = instant_now();
        // a store that takes its own lock back hands nothing over
        if (round.measuring && round.last_holder != number)
            round.times.push_back(static_cast<double>(granted - round.released) / 1e3);
        round.last_holder = number;
        timer.expires_after(hold);
        co_await timer.async_wait(asio::deferred);
        round.released = instant_now();
        co_await release(lease);
    }
}

asio::awaitable<void> pause(double seconds)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_after(std::chrono::duration_cast<tenure::Clock::duration>(std::chrono::duration<double>(seconds)));
    co_await timer.async_wait(asio::deferred);
}

asio::awaitable<void> measure(Round& round, double seconds, Measurement& result)
{
    co_await pause(0.5);
    round.measuring = true;
    co_await pause(seconds);
    round.measuring = false;
    result = {median(round.times), static_cast<double>(round.times.size()) / seconds};
    round.stopping = true;
    while (round.running > 0)
        co_await pause(0.001);
    if (round.failure)
        std::rethrow_exception(round.failure);
}

} // namespace

Measurement hand_round(std::string const& url, unsigned stores, double seconds, Features features)
{
    Measurement result;
    Round round;
    run_session(url, [&](tenure::Store first) {
        tenure::LockConfig config{"bench:round:" + std::to_string(::getpid())};
        config.lease = lease_options(features);
        config.fair = features.fair;
        auto const executor = first.get_executor();
        for (unsigned number = 0; number < stores; ++number) {
            auto store = number == 0 ? first : tenure::open_store(executor, url, store_options());
            ++round.running;
            asio::co_spawn(
                executor, take_and_give({std::move(store), config}, number, round),
                [&round](std::exception_ptr failure) {
                    --round.running;
                    if (failure)
                        round.failure = failure;
                });
        }
        return measure(round, seconds, result);
    });
    return result;
}

} // namespace bench::library
