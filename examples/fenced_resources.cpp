// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Resources that check fencing tokens themselves: connections to a database, a ledger, an archive. A use under a newer
// lease ends the use of a stalled worker whose lease is over, and a use under an older one is refused. The users are in
// shared_resources.cpp.
//   fenced_resources PORT     prints who uses what; runs until SIGINT or SIGTERM
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/write.hpp>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

namespace asio = boost::asio;
using asio::ip::tcp;

namespace
{

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

/** A use is a connection that begins with a line: the service, and the name and fencing
 * token of each resource. */
class Resources
{
public:
    Resources(asio::io_context& context, std::uint16_t port)
        : acceptor_(context, tcp::endpoint(asio::ip::address_v4::loopback(), port))
    {
    }

    asio::awaitable<void> accept()
    {
        std::cout << "ready" << std::endl;
        for (;;) {
            auto socket = co_await acceptor_.async_accept(asio::deferred);
            asio::co_spawn(acceptor_.get_executor(), serve(std::move(socket)), report);
        }
    }

private:
    using Connection = std::shared_ptr<tcp::socket>;
    struct Use {
        std::uint64_t fence = 0;
        /// unset while it is not in use
        Connection connection;
    };

    asio::awaitable<void> serve(tcp::socket socket)
    {
        auto const connection = std::make_shared<tcp::socket>(std::move(socket));
        std::string received;
        (void)co_await asio::async_read_until(
            *connection, asio::dynamic_buffer(received, 1000), '\n', asio::as_tuple(asio::deferred));
        std::istringstream line(received);
        std::string service;
        std::map<std::string, std::uint64_t> asked;
        line >> service;
        for (std::string name; line >> name && line >> asked[name];)
            if (asked[name] < uses_[name].fence)
                co_return;
        for (auto const& [name, fence] : asked) {
            if (auto const& stalled = uses_[name].connection) {
                std::cout << "ends a stalled use of " << name << std::endl;
                stalled->close();
            }
            uses_[name] = {fence, connection};
        }
        print(service);
        // lasts as long as the connection
        (void)co_await asio::async_write(*connection, asio::buffer("ok\n", 3), asio::as_tuple(asio::deferred));
        (void)co_await asio::async_read(*connection, asio::buffer(received), asio::as_tuple(asio::deferred));
        for (auto const& [name, fence] : asked)
            if (uses_[name].connection == connection)
                uses_[name].connection.reset();
    }

    /** How many of each kind are in use. */
    void print(std::string const& service) const
    {
        std::map<std::string, int> kinds;
        for (auto const& [name, use] : uses_)
            if (use.connection)
                ++kinds[name.substr(0, name.find(':'))];
        std::cout << "in use:";
        for (auto const& [kind, count] : kinds)
            std::cout << ' ' << kind << ' ' << count;
        std::cout << ", the last one by " << service << std::endl;
    }

    tcp::acceptor acceptor_;
    std::map<std::string, Use> uses_;
};

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 2) {
        std::cerr << "usage: fenced_resources PORT\n";
        return 1;
    }
    asio::io_context context(1);
    Resources resources(context, static_cast<std::uint16_t>(std::atoi(argv[1])));
    asio::signal_set signals(context, SIGINT, SIGTERM);
    signals.async_wait([&](boost::system::error_code, int) { context.stop(); });
    asio::co_spawn(context, resources.accept(), report);
    context.run();
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
