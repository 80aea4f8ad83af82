// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Workers of several services share scarce resources: three connections to a database, which a SlotPool hands out, and
// a ledger and an archive, which some work needs both and for itself: a MultiLock.
//   shared_resources PORT                               the resources, with a protocol of their own: who uses what
//   shared_resources STORE_URL SERVICE PORT [TTL_MS]    one worker of a service; start some of each, on one machine
//
// The resources compare fencing tokens: a use under a newer lease ends the use of a stalled worker whose lease is over.
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
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
using namespace std::chrono_literals;

namespace
{

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

/** The side of the resources. A use is a connection that begins with a line: the service, and the name and fencing
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

/** One worker of a service. */
class Worker
{
public:
    Worker(tenure::Store store, std::string service, std::uint16_t port, std::chrono::milliseconds ttl)
        : store_(std::move(store))
        , service_(std::move(service))
        , resources_(asio::ip::address_v4::loopback(), port)
        , connections_(store_, {.prefix = "database:", .size = 3, .ttl = ttl})
        , books_(store_, {.keys = {"ledger", "archive"}, .ttl = ttl})
    {
    }

    asio::awaitable<void> run()
    {
        // a wrong login fails here, at the start
        co_await store_.async_ready(10s);
        asio::steady_timer pause(co_await asio::this_coro::executor);
        for (unsigned round = 1;; ++round) {
            pause.expires_after(10ms);
            try {
                if (round % 4 == 0)
                    co_await close_books();
                else
                    co_await query();
            } catch (boost::system::system_error const& error) {
                if (error.code() == tenure::condition::misconfigured || error.code() == asio::error::operation_aborted)
                    throw;
                // held by others for too long, lost, or the store or a resource is unavailable
                std::cout << "not done: " << error.what() << std::endl;
                pause.expires_after(1s);
            }
            co_await pause.async_wait(asio::deferred);
        }
    }

private:
    /** Needs one of the connections, whichever. */
    asio::awaitable<void> query()
    {
        auto slot = co_await connections_.async_acquire(10s);
        auto const work = [this](tenure::Slot& held) { return use(named(held.key(), held.fencing_token())); };
        co_await tenure::with_lease(std::move(slot), work);
    }

    /** Needs the ledger and the archive, and gets both or none. */
    asio::awaitable<void> close_books()
    {
        auto books = co_await books_.async_acquire(10s);
        auto const work = [this](tenure::LeaseSet& held) {
            return use(named("ledger", held.fencing_token("ledger")) + named("archive", held.fencing_token("archive")));
        };
        co_await tenure::with_lease(std::move(books), work);
    }

    static std::string named(std::string const& resource, std::uint64_t fence)
    {
        return ' ' + resource + ' ' + std::to_string(fence);
    }

    /** Cancelled when the lease is lost, which ends the connection. */
    asio::awaitable<void> use(std::string resources)
    {
        auto const executor = co_await asio::this_coro::executor;
        tcp::socket connection(executor);
        co_await connection.async_connect(resources_, asio::deferred);
        auto const line = service_ + resources + '\n';
        co_await asio::async_write(connection, asio::buffer(line), asio::deferred);
        std::string answer;
        co_await asio::async_read_until(connection, asio::dynamic_buffer(answer), '\n', asio::deferred);
        std::cout << "uses" << resources << std::endl;
        asio::steady_timer work(executor, 50ms);
        co_await work.async_wait(asio::deferred);
    }

    tenure::Store store_;
    std::string service_;
    tcp::endpoint resources_;
    tenure::SlotPool connections_;
    tenure::MultiLock books_;
};

/** Works until that fails, or SIGINT or SIGTERM ends it; then nothing is held. */
asio::awaitable<void> serve(tenure::Store store, Worker& worker)
{
    auto const executor = co_await asio::this_coro::executor;
    asio::signal_set signals(executor, SIGINT, SIGTERM);
    auto const ended = co_await asio::experimental::make_parallel_group(
                           asio::co_spawn(executor, worker.run(), asio::deferred), signals.async_wait(asio::deferred))
                           .async_wait(asio::experimental::wait_for_one(), asio::deferred);
    auto const& [order, failure, signal_error, signal] = ended;
    // waits for the releases; what a store cannot confirm within a second expires after the ttl
    co_await store.async_close(1s, asio::as_tuple(asio::deferred));
    if (order.front() == 0)
        std::rethrow_exception(failure);
    std::cout << "stopped" << std::endl;
}

std::uint16_t port_number(char const* text)
{
    return static_cast<std::uint16_t>(std::atoi(text));
}

int run_resources(std::uint16_t port)
{
    asio::io_context context(1);
    Resources resources(context, port);
    asio::signal_set signals(context, SIGINT, SIGTERM);
    signals.async_wait([&](boost::system::error_code, int) { context.stop(); });
    asio::co_spawn(context, resources.accept(), report);
    context.run();
    return 0;
}

int run_worker(char const* url, char const* service, std::uint16_t port, std::chrono::milliseconds ttl)
{
    asio::io_context context(1);
    // the name that `tenure status` shows beside what this worker holds
    auto const store = tenure::connect(context, url, {.worker_name = service});
    try {
        Worker worker(store, service, port, ttl);
        asio::co_spawn(context, serve(store, worker), report);
        context.run();
        return 0;
    } catch (boost::system::system_error const& error) {
        auto const detail = store.diagnostics().last_detail;
        std::cerr << error.what() << (detail.empty() ? "" : ": ") << detail << '\n';
        return 1;
    }
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc == 2)
        return run_resources(port_number(argv[1]));
    if (argc > 3)
        return run_worker(
            argv[1], argv[2], port_number(argv[3]), std::chrono::milliseconds(argc > 4 ? std::atol(argv[4]) : 5000));
    std::cerr << "usage: shared_resources PORT\n       shared_resources STORE_URL SERVICE PORT [TTL_MS]\n";
    return 1;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
