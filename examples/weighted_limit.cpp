// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Jobs of different size share an amount, over all processes on a store: here 6 GiB of memory of a graphics card. A job
// gets all that it needs at once, or waits; a large job is not overtaken by small ones.
//   weighted_limit [STORE_URL]     runs twelve jobs; start several of them on one store
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

constexpr std::uint32_t all_memory = 6;
constexpr std::uint32_t jobs = 12;

/** Pretends to use the memory. Cancelled when the lease is lost, because another job may get the memory then. */
asio::awaitable<void> compute(tenure::Lease const& lease, std::uint32_t memory)
{
    std::cout << "a job uses " + std::to_string(memory) + " GiB, number " + std::to_string(lease.fencing_token()) +
                     '\n';
    asio::steady_timer work(co_await asio::this_coro::executor, 20ms);
    co_await work.async_wait(asio::deferred);
}

asio::awaitable<void> run_job(tenure::Semaphore const& card, std::uint32_t memory)
{
    auto lease = co_await card.async_acquire({.wait = 1min, .permits = memory});
    auto const work = [memory](tenure::Lease& held) { return compute(held, memory); };
    co_await tenure::async_with_lease(std::move(lease), work);
}

/** Shows a snapshot of all places. */
asio::awaitable<void> show(tenure::Store store, tenure::Semaphore const& card)
{
    auto const states = co_await store.async_inspect(card.range());
    std::uint32_t used = 0;
    std::size_t waiting = 0;
    for (auto const& place : states.front().places) {
        used += place.holds ? place.weight : 0;
        waiting += place.holds ? 0 : 1;
    }
    std::cout << used << " of " << all_memory << " GiB are in use, and " << waiting << " jobs have a place in line\n";
}

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace

int main(int argc, char** argv)
try {
    asio::io_context context(1);
    auto const store = tenure::open_store(context, argc > 1 ? argv[1] : "memory://");
    tenure::Semaphore const card(store, {.key = "graphics-memory", .permits = all_memory, .ttl = 5s});
    for (std::uint32_t job = 0; job < jobs; ++job)
        asio::co_spawn(context, run_job(card, 1 + job % 4), report);
    asio::co_spawn(context, show(store, card), report);
    context.run();
    std::cout << jobs << " jobs are done\n";
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
