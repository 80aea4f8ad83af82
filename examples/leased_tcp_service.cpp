// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// An Asio TCP service that runs only while it holds a slot: async_run takes a slot, runs the service under it, stops
// the service when the slot is lost, and starts again with another one.
//   leased_tcp_service [STORE_URL]     default: memory://
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace
{

/** Answers every connection with its slot's number, until it is cancelled or has served enough. */
class Service
{
public:
    explicit Service(asio::io_context& context)
        : acceptor_(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0))
    {
    }

    [[nodiscard]] tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

    asio::awaitable<void> serve(tenure::Slot& slot, int connections)
    {
        std::cout << "serving under slot " << slot.id() << std::endl;
        for (int served = 0; served < connections; ++served) {
            // no token in sight: losing the slot cancels this coroutine, and with it the accept
            auto socket = co_await acceptor_.async_accept(asio::deferred);
            auto const answer = "slot " + std::to_string(slot.id()) + "\n";
            co_await asio::async_write(socket, asio::buffer(answer), asio::deferred);
        }
    }

private:
    tcp::acceptor acceptor_;
};

asio::awaitable<void> client(tcp::endpoint endpoint)
{
    tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect(endpoint, asio::deferred);
    std::string answer(7, '\0');
    co_await asio::async_read(socket, asio::buffer(answer), asio::deferred);
    std::cout << "client got: " << answer;
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
    Service service(context);
    {
        auto const store = tenure::connect(context.get_executor(), argc > 1 ? argv[1] : "memory://");
        tenure::SlotPool const pool(store, {.prefix = "edge:", .size = 4, .ttl = 5s});
        pool.async_run([&service](tenure::Slot& slot) { return service.serve(slot, 3); }, report);
    }
    for (int number = 0; number < 3; ++number)
        asio::co_spawn(context, client(service.endpoint()), report);
    context.run();
    std::cout << "done" << std::endl;
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
