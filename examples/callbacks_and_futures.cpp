// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// No coroutines: the same operations with callbacks, and with futures from a thread that may block.
//   callbacks_and_futures [STORE_URL]      default: memory://
#include <tenure/tenure.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <iostream>
#include <memory>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** Acquires with callbacks; each step starts the next. */
void run_job(tenure::Lock const& lock, std::promise<void>& done)
{
    lock.async_acquire([&done](tenure::error_code error, tenure::Lease lease) {
        if (error) {
            std::cout << "not acquired: " << error.message() << '\n';
            done.set_value();
            return;
        }
        std::cout << "callback holds " << lease.key() << ": " << std::boolalpha << lease.valid() << std::endl;
        // the handler owns the lease; the lease may go while its release is under way
        lease.async_release([&done](tenure::error_code, tenure::ReleaseOutcome outcome) {
            std::cout << "callback: " << to_string(outcome) << std::endl;
            done.set_value();
        });
    });
}

} // namespace

int main(int argc, char** argv)
try {
    asio::io_context context;
    auto work = asio::make_work_guard(context);
    std::thread network([&context] { context.run(); });
    {
        auto const store = tenure::connect(context.get_executor(), argc > 1 ? argv[1] : "memory://");
        tenure::Lock const lock(store, {.key = "jobs:nightly", .ttl = 3s});

        std::promise<void> done;
        run_job(lock, done);
        done.get_future().wait();

        // a blocking program: get() returns the lease, or throws what went wrong
        auto lease = lock.async_acquire(asio::use_future).get();
        std::cout << "future holds " << lease.key() << std::endl;

        // a try while the lock is held: no error, and no lease
        auto const other = lock.async_try_acquire(asio::use_future).get();
        std::cout << "second try holds: " << std::boolalpha << other.has_value() << std::endl;

        auto const outcome = lease.async_release(asio::use_future).get();
        std::cout << "future: " << to_string(outcome) << std::endl;
    }
    work.reset();
    network.join();
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
