// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A service with metrics for Prometheus: it keeps a slot of a pool, and four of its coroutines take turns under a lock.
// prometheus-cpp's Exposer serves the metrics of the store beside those of the service itself.
//   monitored_service STORE_URL HOST:PORT [TTL_MS]      runs until SIGINT or SIGTERM
#include <tenure/prometheus.hpp>
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/registry.h>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** Works while it holds the slot. */
asio::awaitable<void> serve(tenure::Slot& slot)
{
    std::cout << "serving under slot " << slot.id() << std::endl;
    asio::steady_timer pause(co_await asio::this_coro::executor);
    while (!slot.token().cancelled()) {
        pause.expires_after(100ms);
        co_await pause.async_wait(tenure::cancel_on(slot.token(), asio::as_tuple(asio::deferred)));
    }
}

/** One step after another, each under the lock. */
asio::awaitable<void> take_turns(tenure::Lock lock, prometheus::Counter& steps)
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (;;) {
        auto const acquired = co_await lock.async_acquire(tenure::forever, asio::as_tuple(asio::deferred));
        if (std::get<0>(acquired) == tenure::errc::closed)
            co_return;
        if (std::get<0>(acquired) && std::get<0>(acquired) != tenure::condition::try_later)
            throw boost::system::system_error(std::get<0>(acquired));
        if (std::get<0>(acquired)) {
            pause.expires_after(200ms);
            co_await pause.async_wait(asio::as_tuple(asio::deferred));
            continue;
        }
        auto const& lease = std::get<1>(acquired);
        pause.expires_after(20ms);
        co_await pause.async_wait(tenure::cancel_on(lease.token(), asio::as_tuple(asio::deferred)));
        if (!lease.token().cancelled())
            steps.Increment();
    }
}

asio::awaitable<void> end_on_signal(tenure::Store store)
{
    asio::signal_set signals(co_await asio::this_coro::executor, SIGINT, SIGTERM);
    auto const signal = co_await signals.async_wait(asio::as_tuple(asio::deferred));
    static_cast<void>(signal);
    co_await store.async_close(1s, asio::as_tuple(asio::deferred));
}

void ends(std::exception_ptr failure)
try {
    if (failure)
        std::rethrow_exception(failure);
} catch (boost::system::system_error const& error) {
    // the store was closed
    if (error.code() != tenure::errc::closed)
        throw;
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: monitored_service STORE_URL HOST:PORT [TTL_MS]\n";
        return 64;
    }
    std::chrono::milliseconds const ttl{argc > 3 ? std::stoi(argv[3]) : 5000};
    asio::io_context context;
    auto const store = tenure::open_store(context, argv[1]);

    // its destruction stops the threads that serve; only then may the collector go, which holds the store
    auto const collector = std::make_shared<tenure::prometheus::Collector>();
    collector->add(store);
    auto const registry = std::make_shared<prometheus::Registry>();
    auto& steps = prometheus::BuildCounter()
                      .Name("monitored_steps_total")
                      .Help("Steps that were done under the lock.")
                      .Register(*registry)
                      .Add({});
    prometheus::Exposer exposer{argv[2]};
    exposer.RegisterCollectable(collector);
    exposer.RegisterCollectable(registry);

    tenure::SlotPool const pool(store, {.prefix = "job:", .size = 4, .ttl = ttl});
    tenure::async_run(pool, serve, ends);
    tenure::Lock const lock(store, {.key = "step", .ttl = ttl});
    for (int number = 0; number < 4; ++number)
        asio::co_spawn(context, take_turns(lock, steps), ends);
    asio::co_spawn(context, end_on_signal(store), ends);
    context.run();
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
