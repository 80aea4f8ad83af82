// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// An HTTP service of which at most two instances serve at a time. An instance listens only while it holds a slot. On
// SIGTERM, and when it loses its slot, it accepts nothing more, answers the requests that it has while the slot is
// valid, and gives the slot back. After a loss it waits for another one.
//   http_service STORE_URL PORT [TTL_MS]     GET / takes 300 ms; runs until SIGINT or SIGTERM
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace
{

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

/** A filter for cancellations: Beast's operations notice `terminal` alone, and the end of a service begins with
 * `total`. */
asio::cancellation_type as_terminal(asio::cancellation_type type) noexcept
{
    return type == asio::cancellation_type::none ? type : asio::cancellation_type::terminal;
}

/** Answers the requests of one connection, and after the end of the work the one that it has. */
asio::awaitable<void> handle_requests(tcp::socket socket, tenure::Slot& slot, tenure::TaskGroup& sessions)
{
    boost::beast::tcp_stream stream(std::move(socket));
    boost::beast::flat_buffer received;
    for (bool alive = true; alive && !sessions.closed();) {
        // A session without a request ends at once in a drain (total); clients repeat a request that meets it.
        co_await asio::this_coro::reset_cancellation_state(as_terminal);
        stream.expires_after(30s);
        http::request<http::empty_body> request;
        co_await http::async_read(stream, received, request, asio::deferred);
        // One with a request answers it, also after a loss: the notice, a tenth of the ttl, is longer than that takes.
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        asio::steady_timer work(stream.get_executor(), 300ms);
        co_await work.async_wait(asio::deferred);
        // A process that was paused continues here after its slot went to another instance: look before each effect.
        bool const valid = slot.valid();
        http::response<http::string_body> response(
            valid ? http::status::ok : http::status::service_unavailable, request.version());
        response.body() = valid ? "slot " + std::to_string(slot.id()) + "\n" : "retry\n";
        response.keep_alive(request.keep_alive() && !sessions.closed());
        response.prepare_payload();
        // a client that reads nothing does not hold up the end
        stream.expires_after(1s);
        co_await http::async_write(stream, response, asio::deferred);
        alive = response.keep_alive();
    }
}

/** Listens until a loss of the slot or a signal cancels it. */
asio::awaitable<void> serve(tenure::Slot& slot, tenure::TaskGroup& sessions, tcp::endpoint endpoint)
{
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    sessions.set_drain(10s);
    tcp::acceptor acceptor(co_await asio::this_coro::executor, endpoint);
    std::cout << "listens under slot " << slot.id() << std::endl;
    for (;;) {
        auto accepted = co_await acceptor.async_accept(asio::as_tuple(asio::deferred));
        auto& [error, socket] = accepted;
        if (error) {
            std::cout << "stops listening" << std::endl;
            throw boost::system::system_error(error, "accept");
        }
        // the failure of a connection ends no other one
        sessions.spawn(handle_requests(std::move(socket), slot, sessions), asio::detached);
    }
}

/** Serves until that fails, or SIGINT or SIGTERM ends it; then nothing is held. */
asio::awaitable<void> run(tenure::Store store, tcp::endpoint endpoint, std::chrono::milliseconds ttl)
{
    tenure::SlotPool const pool(store, {.prefix = "http:", .size = 2, .ttl = ttl});
    auto const work = [endpoint](tenure::Slot& slot, tenure::TaskGroup& sessions) {
        return serve(slot, sessions, endpoint);
    };
    // async_run waits for a store that is unavailable; a wrong login ends it at once
    co_await tenure::async_serve(store, {.drain = 10s, .close_within = 1s}, tenure::async_run(pool, work));
    std::cout << "stopped" << std::endl;
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: http_service STORE_URL PORT [TTL_MS]\n";
        return 1;
    }
    asio::io_context context(1);
    tcp::endpoint const endpoint(asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::atoi(argv[2])));
    std::chrono::milliseconds const ttl(argc > 3 ? std::atol(argv[3]) : 5000);
    asio::co_spawn(context, run(tenure::open_store(context, argv[1]), endpoint, ttl), report);
    context.run();
    return 0;
} catch (std::exception const& error) {
    // the log, on standard error as well, has the words of the server
    std::cerr << error.what() << '\n';
    return 1;
}
