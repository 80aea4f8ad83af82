// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One leader among several candidates: whoever holds the lock leads, and async_wait tells when that has ended.
//   leader_by_lock [STORE_URL]     default: memory://
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

asio::awaitable<void> candidate(tenure::Lock lock, std::string name, int terms)
{
    for (int term = 1; term <= terms; ++term) {
        // candidates wait as long as it takes: there is always a leader, or soon one
        auto lease = co_await lock.async_acquire(tenure::forever);
        std::cout << name << " leads, term " << term << ", fencing token " << lease.fencing_token() << std::endl;

        // the work of a leader would go here; this one resigns after a while, or when it has to
        asio::steady_timer resign(co_await asio::this_coro::executor, 50ms);
        try {
            co_await resign.async_wait(tenure::cancel_on(lease.token()));
        } catch (boost::system::system_error const&) {
            std::cout << name << " is deposed: " << to_string(lease.token().reason()) << std::endl;
        }
        auto const outcome = co_await lease.async_release();
        std::cout << name << " resigns: " << to_string(outcome) << std::endl;
    }
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
    {
        auto const store = tenure::connect(context.get_executor(), argc > 1 ? argv[1] : "memory://");
        tenure::Lock const lock(store, {.key = "reports:leader", .ttl = 3s});
        for (auto const* name : {"anna", "boris", "carla"})
            asio::co_spawn(context, candidate(lock, name, 2), report);
    }
    context.run();
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
