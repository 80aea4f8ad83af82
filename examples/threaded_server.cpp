// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Several threads run one context: every object of the library may be used from any of them. Work that blocks watches a
// std::stop_token, and may block every thread there is: the store has its own, and renews the leases meanwhile.
//   threaded_server [STORE_URL]        default: memory://
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <iostream>
#include <stop_token>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

std::atomic<int> jobs_done{0};

/// Work without Asio: it computes, and checks its stop token now and then.
bool compute(std::stop_token const& stop)
{
    for (int step = 0; step < 5; ++step) {
        if (stop.stop_requested())
            return false;
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

asio::awaitable<void> job(tenure::SlotPool pool)
{
    auto slot = co_await pool.async_acquire();
    if (compute(slot.token().stop_token()))
        ++jobs_done;
    co_await slot.async_release();
}

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace

int main(int argc, char** argv)
try {
    asio::thread_pool threads(4);
    {
        tenure::StoreOptions options;
        options.own_thread = true;
        auto const store = tenure::connect(threads, argc > 1 ? argv[1] : "memory://", options);
        tenure::SlotPool const pool(store, {.prefix = "threads:", .size = 3, .ttl = 5s});
        // a coroutine of its own strand each, so that no two threads are in one of them at a time
        for (int number = 0; number < 20; ++number)
            asio::co_spawn(asio::make_strand(threads), job(pool), report);
    }
    threads.join();
    std::cout << jobs_done << " jobs done" << std::endl;
    return jobs_done == 20 ? 0 : 1;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
