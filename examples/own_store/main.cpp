// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A worker that takes one of three numbers while it runs; start several of them.
//   own_store DIRECTORY [SECONDS]     default: 1
#include "file_backend.hpp"

#include <tenure/cancel_on.hpp>
#include <tenure/slot_pool.hpp>

#include <boost/asio/as_tuple.hpp>
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

asio::awaitable<void> work(tenure::SlotPool pool, std::chrono::seconds time)
{
    tenure::Slot slot = co_await pool.async_acquire();
    std::cout << "slot " << slot.id() << ", fencing token " << slot.fencing_token() << std::endl;
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    // ends early if the lease is lost
    co_await timer.async_wait(tenure::cancel_on(slot.token(), asio::as_tuple(asio::deferred)));
    std::cout << (slot.token().cancelled() ? "lost" : "done") << std::endl;
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
    if (argc < 2) {
        std::cerr << "usage: own_store DIRECTORY [SECONDS]\n";
        return 2;
    }
    asio::io_context context;
    auto const store = own_store::open_directory(context.get_executor(), argv[1], {});
    tenure::SlotPool const pool(store, {.prefix = "worker:", .size = 3, .ttl = 5s});
    asio::co_spawn(context, work(pool, std::chrono::seconds(argc > 2 ? std::stoi(argv[2]) : 1)), report);
    context.run();
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
