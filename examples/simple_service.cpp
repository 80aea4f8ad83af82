// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The whole life of a service whose store lives in main(): it fails at its start if the store cannot be used, works
// while it holds a lock, and ends in order when it is done or when SIGINT or SIGTERM arrives.
//   simple_service [STORE_URL]     default: memory://
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

asio::awaitable<void> work(tenure::Lock lock)
{
    tenure::Lease lease = co_await lock.async_acquire(tenure::forever);
    auto const stop = lease.token();
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (int job = 0; job < 3 && !stop.cancelled(); ++job) {
        pause.expires_after(20ms);
        co_await pause.async_wait(tenure::cancel_on(stop, asio::as_tuple(asio::deferred)));
        std::cout << "job " << job << " done under " << lease.key() << '\n';
    }
    co_await lease.async_release();
}

asio::awaitable<void> service(tenure::Store store)
{
    // throws at once if the login is wrong, and after 10 s if the store cannot be reached
    co_await store.async_ready(10s);
    std::cout << "ready\n";

    auto const executor = co_await asio::this_coro::executor;
    asio::signal_set signals(executor, SIGINT, SIGTERM);
    tenure::Lock const lock(store, {.key = "jobs:nightly", .ttl = 5s});
    // ends with the first one, and cancels the other; the operator || would wait for a signal after the work has failed
    auto const ended = co_await asio::experimental::make_parallel_group(
                           asio::co_spawn(executor, work(lock), asio::deferred), signals.async_wait(asio::deferred))
                           .async_wait(asio::experimental::wait_for_one(), asio::deferred);

    // waits until what `work` held has been released
    co_await store.async_close(10s);
    auto const& [order, failure, signal_error, signal] = ended;
    if (order.front() == 0 && failure)
        std::rethrow_exception(failure);
    std::cout << "closed\n";
}

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace

int main(int argc, char** argv)
try {
    asio::io_context context;
    auto const store = tenure::connect(context, argc > 1 ? argv[1] : "memory://");
    try {
        asio::co_spawn(context, service(store), report);
        // returns once the store is closed, although `store` is still there
        context.run();
        return 0;
    } catch (std::exception const& error) {
        auto const detail = store.diagnostics().last_detail;
        std::cerr << error.what() << (detail.empty() ? "" : ": ") << detail << '\n';
        return 1;
    }
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
