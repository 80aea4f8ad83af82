// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// An HTTP service of which at most two instances serve at a time. An instance listens only while it holds a slot. On
// SIGTERM, and when it loses its slot, it accepts nothing more, answers the requests that it has while the slot is
// valid, and gives the slot back. After a loss it waits for another one.
//   http_service STORE_URL PORT [TTL_MS]     GET / takes 300 ms; runs until SIGINT or SIGTERM
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <set>
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

struct Session {
    boost::beast::tcp_stream stream;
    boost::beast::flat_buffer received = {};
    bool answers = false;
};

/** The sessions under one slot. All run on the strand of the work under the slot. */
struct Server {
    tenure::Slot& slot;
    /// cancelled when a session ends
    asio::steady_timer session_ended;
    std::set<Session*> sessions = {};
    bool drains = false;
};

asio::awaitable<void> handle_requests(Server& server, tcp::socket socket)
{
    Session session{.stream = boost::beast::tcp_stream(std::move(socket))};
    server.sessions.insert(&session);
    for (bool alive = true; alive && !server.drains;) {
        session.stream.expires_after(30s);
        http::request<http::empty_body> request;
        auto const read =
            co_await http::async_read(session.stream, session.received, request, asio::as_tuple(asio::deferred));
        if (std::get<0>(read))
            break;
        session.answers = true;
        asio::steady_timer work(session.stream.get_executor(), 300ms);
        co_await work.async_wait(asio::deferred);
        // A process that was paused continues here after its slot went to another instance: look before each effect.
        bool const valid = server.slot.valid();
        http::response<http::string_body> response(
            valid ? http::status::ok : http::status::service_unavailable, request.version());
        response.body() = valid ? "slot " + std::to_string(server.slot.id()) + "\n" : "retry\n";
        response.keep_alive(request.keep_alive() && !server.drains);
        response.prepare_payload();
        auto const written = co_await http::async_write(session.stream, response, asio::as_tuple(asio::deferred));
        alive = response.keep_alive() && !std::get<0>(written);
        session.answers = false;
    }
    server.sessions.erase(&session);
    server.session_ended.cancel();
}

asio::awaitable<void> drain(Server& server)
{
    server.drains = true;
    for (auto const limit = tenure::Clock::now() + 10s; !server.sessions.empty();) {
        // After a loss the sessions have the notice (a tenth of the ttl): no other instance gets the slot before.
        bool const lost = is_loss(server.slot.token().reason());
        auto const rest = (lost ? std::min(limit, server.slot.valid_until()) : limit) - tenure::Clock::now();
        bool const over = rest <= 0s || !server.slot.valid();
        for (auto* session : server.sessions)
            // clients repeat a request that meets a closed idle connection
            if (over || (!session->answers && session->received.size() == 0))
                session->stream.close();
        server.session_ended.expires_after(over ? 1s : rest);
        co_await server.session_ended.async_wait(asio::as_tuple(asio::deferred));
    }
}

/** Listens until a loss of the slot or a signal cancels it; returns when the last session has ended. */
asio::awaitable<void> serve(tenure::Slot& slot, tcp::endpoint endpoint)
{
    // cancellation ends the accept, and not the drain that follows
    co_await asio::this_coro::throw_if_cancelled(false);
    auto const executor = co_await asio::this_coro::executor;
    Server server{.slot = slot, .session_ended = asio::steady_timer(executor)};
    tcp::acceptor acceptor(executor, endpoint);
    std::cout << "listens under slot " << slot.id() << std::endl;
    boost::system::error_code error;
    while (!error) {
        auto accepted = co_await acceptor.async_accept(asio::as_tuple(asio::deferred));
        error = std::get<0>(accepted);
        if (!error)
            asio::co_spawn(executor, handle_requests(server, std::move(std::get<1>(accepted))), report);
    }
    acceptor.close();
    co_await drain(server);
    std::cout << "drained" << std::endl;
    if (error != asio::error::operation_aborted)
        throw boost::system::system_error(error, "accept");
}

/** Serves until that fails, or SIGINT or SIGTERM ends it; then nothing is held. */
asio::awaitable<void> run(tenure::Store store, tcp::endpoint endpoint, std::chrono::milliseconds ttl)
{
    tenure::SlotPool const pool(store, {.prefix = "http:", .size = 2, .ttl = ttl});
    auto const work = [endpoint](tenure::Slot& slot) { return serve(slot, endpoint); };
    asio::signal_set signals(co_await asio::this_coro::executor, SIGINT, SIGTERM);
    // async_run waits for a store that is unavailable; a wrong login ends it at once
    auto const ended = co_await asio::experimental::make_parallel_group(
                           tenure::async_run(pool, work, asio::deferred), signals.async_wait(asio::deferred))
                           .async_wait(asio::experimental::wait_for_one(), asio::deferred);
    auto const& [order, failure, signal_error, signal] = ended;
    // waits for the release; what the store cannot confirm within a second expires after the ttl
    co_await store.async_close(1s, asio::as_tuple(asio::deferred));
    if (order.front() == 0 && failure)
        std::rethrow_exception(failure);
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
