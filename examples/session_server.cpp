// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A TCP server under one slot of a pool of 8: it answers each line with its number. Its sessions end before the slot is
// given back, whether a signal, a loss or a failure ends the server.
//   session_server STORE_URL PORT [TTL_MS [DRAIN_MS]]      runs until SIGINT or SIGTERM
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;

namespace
{

/** One client. It uses the slot, which exists until the last session has ended. */
asio::awaitable<void> session(tcp::socket socket, tenure::Slot& slot)
{
    for (std::string line;;) {
        auto const length =
            co_await asio::async_read_until(socket, asio::dynamic_buffer(line, 1000), '\n', asio::deferred);
        line.erase(0, length);
        if (!slot.valid())
            co_return;
        auto const answer = "slot " + std::to_string(slot.id()) + "\n";
        co_await asio::async_write(socket, asio::buffer(answer), asio::deferred);
    }
}

/** Accepts until it is cancelled. Nothing here waits for the sessions: the run of this work does. */
asio::awaitable<void> serve(tenure::Slot& slot, tenure::TaskGroup& sessions, std::uint16_t port, milliseconds drain)
{
    // on a signal it stops accepting, and sessions have the time of the drain
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    sessions.set_drain(drain);
    tcp::acceptor acceptor(co_await asio::this_coro::executor, {asio::ip::address_v4::loopback(), port});
    std::cout << "serves under slot " << slot.id() << std::endl;
    for (;;) {
        auto socket = co_await acceptor.async_accept(asio::deferred);
        // detached: a client that resets its connection ends no other session
        sessions.spawn(session(std::move(socket), slot), asio::detached);
    }
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: session_server STORE_URL PORT [TTL_MS [DRAIN_MS]]\n";
        return 1;
    }
    auto const port = static_cast<std::uint16_t>(std::atoi(argv[2]));
    milliseconds const ttl(argc > 3 ? std::atol(argv[3]) : 5000);
    milliseconds const drain(argc > 4 ? std::atol(argv[4]) : 2000);
    asio::io_context context(1);
    auto const store = tenure::open_store(context, argv[1]);
    tenure::SlotPool const pool(store, {.prefix = "sessions:", .size = 8, .ttl = ttl});
    auto const work = [=](tenure::Slot& slot, tenure::TaskGroup& sessions) {
        return serve(slot, sessions, port, drain);
    };
    tenure::async_serve(
        store, {.drain = drain, .close_within = milliseconds(1000)}, tenure::async_run(pool, work),
        [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
            std::cout << "stopped" << std::endl;
        });
    context.run();
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
