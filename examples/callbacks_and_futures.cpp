// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// No coroutines: the same operations with callbacks, and with futures from a thread that may block. A batch program: a
// signal ends it at once, and what it held expires after the ttl.
//   callbacks_and_futures [STORE_URL]      default: file:
#include <tenure/tenure.hpp>

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** Acquires with callbacks; each step starts the next. The last one sets the promise, or the error that ended them. */
void run_job(tenure::Lock const& lock, std::promise<void>& done)
{
    lock.async_acquire(10s, [&done](tenure::error_code error, tenure::Lease lease) {
        if (error) {
            done.set_exception(std::make_exception_ptr(boost::system::system_error(error, "callback")));
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
    // Declared first, and so destroyed last: it stops and joins its thread, also when a get() below has thrown.
    asio::thread_pool network(1);
    auto const store = tenure::open_store(network, argc > 1 ? argv[1] : "file:");
    tenure::Lock const lock(store, {.key = "jobs:nightly", .ttl = 3s});
    std::promise<void> done;
    run_job(lock, done);
    done.get_future().get();

    // a blocking program: get() returns the lease, or throws what went wrong, with the words of the server
    auto lease = lock.async_acquire(10s, tenure::with_details(asio::use_future)).get();
    std::cout << "future holds " << lease.key() << std::endl;

    // a try while the lock is held: no error, and no lease
    auto const other = lock.async_try_acquire(asio::use_future).get();
    std::cout << "second try holds: " << std::boolalpha << other.has_value() << std::endl;

    // The thread of `network` renews the lease while this one works. After a loss the work ends without an effect.
    if (lease.token().cancelled())
        throw boost::system::system_error(tenure::errc::lease_lost);
    auto const outcome = lease.async_release(asio::use_future).get();
    std::cout << "future: " << to_string(outcome) << std::endl;
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
