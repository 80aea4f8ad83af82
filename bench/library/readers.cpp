// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
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
#include <optional>
#include <utility>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

using namespace std::chrono_literals;

constexpr auto hold = 2ms;
constexpr unsigned readers = 16;
constexpr unsigned writers = 4;

/** The state that all coroutines of a run share. */
struct Run {
    std::uint64_t reads = 0;
    /// coroutines that have not ended
    unsigned running = 0;
    bool stopping = false;
    std::exception_ptr failure;
};

/** @param turns  a lock of this process that is held until the grant; unset: all ask at the same time
 *  @param count  of the leases that have ended */
asio::awaitable<void>
hold_in_a_loop(tenure::Lock side, std::optional<tenure::Lock> turns, Run& run, std::uint64_t& count)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    tenure::AcquireOptions options;
    options.wait = std::chrono::milliseconds::max();
    while (!run.stopping) {
        tenure::Lease turn;
        if (turns) {
            auto taken = co_await turns->async_acquire(options);
            turn = std::move(taken);
        }
        auto lease = co_await side.async_acquire(options);
        turn = {};
        timer.expires_after(hold);
        co_await timer.async_wait(asio::deferred);
        co_await release(lease);
        ++count;
    }
}

void start(tenure::Lock side, std::optional<tenure::Lock> turns, Run& run, std::uint64_t& count)
{
    ++run.running;
    auto const executor = side.get_executor();
    asio::co_spawn(
        executor, hold_in_a_loop(std::move(side), std::move(turns), run, count), [&run](std::exception_ptr failure) {
            --run.running;
            if (failure)
                run.failure = failure;
        });
}

asio::awaitable<void>
read_and_write(tenure::Store store, std::string url, bool one_place, double seconds, Run& run, Measurement& result)
{
    auto const executor = co_await asio::this_coro::executor;
    tenure::ReadWriteLockConfig const config{.key = "bench:read:" + std::to_string(::getpid())};
    auto const here = tenure::open_store(executor, "memory://");
    std::optional<tenure::Lock> turns;
    if (one_place)
        turns.emplace(here, tenure::LockConfig{.key = "turn"});
    tenure::ReadWriteLock const sides(store, config);
    for (unsigned number = 0; number < readers; ++number)
        start(sides.read_lock(), turns, run, run.reads);
    std::uint64_t writes = 0;
    for (unsigned number = 0; number < writers; ++number) {
        tenure::ReadWriteLock const own(tenure::open_store(executor, url, store_options()), config);
        start(own.write_lock(), std::nullopt, run, writes);
    }
    asio::steady_timer timer(executor);
    timer.expires_after(std::chrono::duration_cast<tenure::Clock::duration>(std::chrono::duration<double>(seconds)));
    co_await timer.async_wait(asio::deferred);
    result = {static_cast<double>(run.reads) / seconds, static_cast<double>(writes) / seconds};
    run.stopping = true;
    while (run.running > 0) {
        timer.expires_after(1ms);
        co_await timer.async_wait(asio::deferred);
    }
    if (run.failure)
        std::rethrow_exception(run.failure);
}

} // namespace

Measurement reads(std::string const& url, bool one_place, double seconds)
{
    Measurement result;
    Run run;
    run_session(url, [&](tenure::Store store) {
        return read_and_write(std::move(store), url, one_place, seconds, run, result);
    });
    return result;
}

} // namespace bench::library
