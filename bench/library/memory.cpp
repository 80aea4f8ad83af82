// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "library/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <malloc.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

struct Memory {
    double resident = 0;
    double allocated = 0;
};

/** The resident memory of this process, and the part of it that malloc has handed out. */
Memory memory_in_use()
{
    double total = 0;
    double resident = 0;
    if (std::ifstream file{"/proc/self/statm"}; !(file >> total >> resident))
        throw std::runtime_error("the kernel does not tell what this process has in memory");
    auto const heap = ::mallinfo2();
    return {
        resident * static_cast<double>(::sysconf(_SC_PAGESIZE)),
        static_cast<double>(heap.uordblks) + static_cast<double>(heap.hblkhd)};
}

/** Its name has 30 bytes. */
tenure::Lock make_lock(tenure::Store const& store, unsigned number, std::chrono::milliseconds ttl)
{
    auto const digits = std::to_string(number);
    return {store, {"bench:memory:lease:" + std::string(11 - digits.size(), '0') + digits, ttl, {}}};
}

/** Takes every lease whose turn it is, until none is left. */
asio::awaitable<void> take(
    tenure::Store store, std::chrono::milliseconds ttl, unsigned& next, std::vector<tenure::Lease>& leases,
    unsigned& missing, std::exception_ptr& failure)
{
    try {
        while (next < leases.size()) {
            auto const number = next++;
            auto const lock = make_lock(store, number, ttl);
            leases[number] = co_await lock.async_acquire(asio::deferred);
            --missing;
        }
    } catch (...) {
        failure = std::current_exception();
    }
}

asio::awaitable<void> wait_for(asio::steady_timer& timer, double seconds)
{
    timer.expires_after(std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds)));
    co_await timer.async_wait(asio::deferred);
}

/** The renewals so far at an instant. */
struct Renewed {
    Steady::time_point when;
    std::uint64_t renewals = 0;
};

/** Pauses the server, and adds to the result what that has cost each lease.
 *  @param begin  of the time without a pause */
asio::awaitable<void> pause_server(
    tenure::Store store, asio::steady_timer& timer, double leases, Memory const before, Renewed const begin,
    LeasesHeld const& held_for, Measurement& result)
{
    auto const usual = static_cast<double>(store.statistics().renewals - begin.renewals) / seconds_since(begin.when);
    auto const at_pause = store.statistics();
    auto const paused_at = Steady::now();
    if (::kill(held_for.server, SIGSTOP) != 0)
        throw std::runtime_error("the server cannot be paused");
    std::chrono::duration<double> const pause = held_for.paused_for;
    co_await wait_for(timer, pause.count());
    ::kill(held_for.server, SIGCONT);
    std::chrono::duration<double> const ttl = held_for.ttl;
    co_await wait_for(timer, ttl.count());
    auto const statistics = store.statistics();
    auto const failed = static_cast<double>(statistics.renewals_failed - at_pause.renewals_failed);
    auto const renewed = static_cast<double>(statistics.renewals - at_pause.renewals);
    result.push_back(failed / leases);
    result.push_back(renewed / (usual * seconds_since(paused_at)));
    result.push_back((memory_in_use().allocated - before.allocated) / leases);
}

asio::awaitable<void>
hold_leases(tenure::Store store, unsigned count, unsigned in_flight, LeasesHeld const& held_for, Measurement& result)
{
    std::vector<tenure::Lease> leases(count);
    auto const executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    // the connection and its buffers are no lease's
    auto const first = make_lock(store, count, held_for.ttl);
    auto const its_lease = co_await first.async_acquire(asio::deferred);
    auto const before = memory_in_use();

    unsigned next = 0;
    unsigned missing = count;
    std::exception_ptr failure;
    for (unsigned taker = 0; taker < in_flight; ++taker)
        asio::co_spawn(executor, take(store, held_for.ttl, next, leases, missing, failure), asio::detached);
    while (missing > 0 && !failure) {
        timer.expires_after(std::chrono::milliseconds{20});
        co_await timer.async_wait(asio::deferred);
    }
    if (failure)
        std::rethrow_exception(failure);
    // every lease has been renewed once by then
    timer.expires_after(held_for.ttl);
    co_await timer.async_wait(asio::deferred);
    auto const held = memory_in_use();

    auto const cpu = cpu_seconds();
    auto const begin = Steady::now();
    auto const renewals = store.statistics().renewals;
    co_await wait_for(timer, held_for.seconds);
    result = {
        (held.allocated - before.allocated) / count, (held.resident - before.resident) / count,
        (cpu_seconds() - cpu) * 100 / seconds_since(begin)};
    if (held_for.server != 0) {
        Renewed const from{begin, renewals};
        co_await pause_server(store, timer, count, before, from, held_for, result);
    }
    auto const valid = std::ranges::count_if(leases, [](tenure::Lease const& lease) { return lease.valid(); });
    if (static_cast<unsigned>(valid) != count)
        throw std::runtime_error("of " + std::to_string(count) + " leases " + std::to_string(valid) + " are valid");
}

} // namespace

Measurement hold_many(std::string const& url, unsigned count, unsigned in_flight, LeasesHeld const& held_for)
{
    Measurement result;
    run_session(url, [&](tenure::Store store) { return hold_leases(store, count, in_flight, held_for, result); });
    return result;
}

} // namespace bench::library
