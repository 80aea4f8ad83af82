// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A worker of which at most SIZE work at a time, each under a number that no other live worker has. It fails at its
// start if the store cannot be used, stops in time when it loses its number, and ends in order on a signal.
//   worker [STORE_URL [SIZE [TTL_MS]]]     runs until SIGINT or SIGTERM; default: file:, 3, 5 s
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** The work under one number. A lost number and a signal cancel it where it waits; the number is given back afterwards.
 */
asio::awaitable<void> work(tenure::Slot& slot)
{
    std::cout << "begins as worker " << slot.id() << std::endl;
    asio::steady_timer job(co_await asio::this_coro::executor);
    for (int number = 1;; ++number) {
        job.expires_after(50ms);
        co_await job.async_wait(asio::deferred);
        // a process that was paused continues here before the loss reaches it: look before each write
        if (!slot.valid())
            co_return;
        std::cout << "worker " << slot.id() << " did job " << number << std::endl;
    }
}

asio::awaitable<void> run(tenure::Store store, tenure::SlotPool pool)
{
    // throws at once if the login is wrong, and after 10 s if the store cannot be reached
    co_await store.async_ready(10s, tenure::with_details());
    std::cout << "ready" << std::endl;
    // acquires another number after a loss
    co_await tenure::async_run(pool, work);
}

/** Works until that fails, or SIGINT or SIGTERM ends it; then nothing is held. */
asio::awaitable<void> serve(tenure::Store store, tenure::SlotPool pool)
{
    // on a signal, and after a failure: cancels the work, waits for the release, closes the store
    co_await tenure::async_serve(store, {.close_within = 1s}, run(store, pool));
    std::cout << "stopped" << std::endl;
}

void report(std::exception_ptr failure)
{
    // out of context.run(), into main()
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace

int main(int argc, char** argv)
try {
    auto const size = static_cast<std::uint32_t>(argc > 2 ? std::atol(argv[2]) : 3);
    std::chrono::milliseconds const ttl(argc > 3 ? std::atol(argv[3]) : 5000);
    asio::io_context context(1);
    auto const store = tenure::open_store(context, argc > 1 ? argv[1] : "file:");
    asio::co_spawn(context, serve(store, {store, {.prefix = "worker:", .size = size, .ttl = ttl}}), report);
    // returns once the store is closed, although `store` is still there
    context.run();
    return 0;
} catch (std::exception const& error) {
    // with the words of the server, if it is a tenure::error
    std::cerr << error.what() << '\n';
    return 1;
}
