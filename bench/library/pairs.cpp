// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "library/latency.hpp"
#include "library/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

constexpr std::chrono::milliseconds ttl{10'000};

/** A run that failed leaves keys until their ttl is over, and the next one, which is a process of its own, must not
 * meet them. */
std::string of_this_run(std::string const& name)
{
    return "bench:" + name + ":" + std::to_string(::getpid()) + ":";
}

tenure::Lock make_lock(tenure::Store const& store, unsigned number, Features features)
{
    tenure::LockConfig config{of_this_run("lock") + std::to_string(number), ttl, lease_options(features)};
    config.fair = features.fair;
    return {store, std::move(config)};
}

/** The state that all coroutines of a run share. */
struct Count {
    std::uint64_t pairs = 0;
    /// coroutines that have not ended
    unsigned running = 0;
    /// each of them ends after its pair: one that is cut off leaves a warning and a key
    bool stopping = false;
    std::exception_ptr failure;
};

/** `Source` is a Lock, a SlotPool or a Semaphore; ends with its first failure. Release is written out here and not
 * shared: a coroutine of its own would be measured with it. */
template <class Source>
asio::awaitable<void> pair_after_pair(Source source, Count& count)
{
    while (!count.stopping) {
        auto lease = co_await source.async_acquire();
        auto const outcome = co_await lease.async_release();
        if (outcome != tenure::ReleaseOutcome::released)
            throw std::runtime_error("a release ended as " + std::string(to_string(outcome)));
        ++count.pairs;
    }
}

asio::awaitable<void> pause(double seconds)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_after(std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds)));
    co_await timer.async_wait(asio::deferred);
}

/** Lets the coroutines that count run, and measures all but their first moments. */
asio::awaitable<void> measure(Count& count, double seconds, pid_t server, Measurement& result)
{
    co_await pause(seconds / 10);
    auto const before = count.pairs;
    auto const begin = Steady::now();
    auto const cpu = cpu_seconds();
    auto const server_cpu = server == 0 ? 0 : cpu_seconds_of(server);
    co_await pause(seconds);
    auto const pairs = static_cast<double>(count.pairs - before);
    result = {pairs / seconds_since(begin), (cpu_seconds() - cpu) * 1e6 / pairs};
    if (server != 0)
        result.push_back((cpu_seconds_of(server) - server_cpu) * 1e6 / pairs);
    count.stopping = true;
    while (count.running > 0)
        co_await pause(0.001);
    if (count.failure)
        std::rethrow_exception(count.failure);
}

template <class Source>
void start(asio::any_io_executor const& executor, Source source, Count& count)
{
    ++count.running;
    asio::co_spawn(executor, pair_after_pair(std::move(source), count), [&count](std::exception_ptr failure) {
        --count.running;
        if (failure)
            count.failure = failure;
    });
}

asio::awaitable<void>
beside_held_permits(tenure::Store store, unsigned held, double seconds, pid_t server, Count& count, Measurement& result)
{
    tenure::Semaphore const permits{store, {.key = of_this_run("permits"), .permits = 2'000, .ttl = ttl}};
    std::vector<tenure::Lease> leases;
    while (leases.size() < held) {
        auto lease = co_await permits.async_acquire();
        leases.push_back(std::move(lease));
    }
    for (unsigned number = 0; number < 16; ++number)
        start(store.get_executor(), permits, count);
    co_await measure(count, seconds, server, result);
    for (auto& lease : leases)
        co_await release(lease);
}

} // namespace

Measurement pairs(std::string const& url, unsigned keys, double seconds, Features features, pid_t server)
{
    Measurement result;
    Count count;
    run_session(url, [&](tenure::Store store) {
        for (unsigned number = 0; number < keys; ++number)
            start(store.get_executor(), make_lock(store, number, features), count);
        return measure(count, seconds, server, result);
    });
    return result;
}

Measurement pool_pairs(std::string const& url, unsigned size, double seconds, Features features, pid_t server)
{
    Measurement result;
    Count count;
    run_session(url, [&](tenure::Store store) {
        tenure::SlotPool const pool{store, {of_this_run("slot"), size, ttl, lease_options(features)}};
        for (unsigned number = 0; number < size; ++number)
            start(store.get_executor(), pool, count);
        return measure(count, seconds, server, result);
    });
    return result;
}

Measurement semaphore_pairs(std::string const& url, unsigned held, double seconds, pid_t server)
{
    Measurement result;
    Count count;
    run_session(url, [&](tenure::Store store) {
        return beside_held_permits(std::move(store), held, seconds, server, count, result);
    });
    return result;
}

Measurement pair_latency(std::string const& url, unsigned pairs, Features features)
{
    std::vector<double> times;
    times.reserve(pairs);
    run_session(url, [&](tenure::Store store) { return measure_latency(make_lock(store, 0, features), pairs, times); });
    return {median(times)};
}

} // namespace bench::library
