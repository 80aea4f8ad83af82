// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/stopwatch.hpp"
#include "library/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench::library
{

namespace
{

struct Memory {
    double resident = 0;
    double allocated = 0;
};

/** What this process has in memory, and what of it malloc has handed out. */
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
    timer.expires_after(std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(held_for.seconds)));
    co_await timer.async_wait(asio::deferred);
    result = {
        (held.allocated - before.allocated) / count, (held.resident - before.resident) / count,
        (cpu_seconds() - cpu) * 100 / seconds_since(begin)};
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
