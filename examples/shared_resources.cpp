// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Workers of several services share scarce resources: three connections to a database, which a SlotPool hands out, and
// a ledger and an archive, which some work needs both and for itself: a MultiLock. fenced_resources.cpp has the
// resources.
//   shared_resources STORE_URL SERVICE PORT [TTL_MS]    one worker of a service; start some of each
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
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
        co_await tenure::async_with_lease(std::move(slot), work);
    }

    /** Needs the ledger and the archive, and gets both or none. */
    asio::awaitable<void> close_books()
    {
        auto books = co_await books_.async_acquire(10s);
        auto const work = [this](tenure::LeaseSet& held) {
            return use(named("ledger", held.fencing_token("ledger")) + named("archive", held.fencing_token("archive")));
        };
        co_await tenure::async_with_lease(std::move(books), work);
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
    co_await tenure::async_serve(store, {.close_within = 1s}, worker.run());
    std::cout << "stopped" << std::endl;
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 4) {
        std::cerr << "usage: shared_resources STORE_URL SERVICE PORT [TTL_MS]\n";
        return 1;
    }
    std::chrono::milliseconds const ttl(argc > 4 ? std::atol(argv[4]) : 5000);
    asio::io_context context(1);
    // the name that `tenure status` shows beside what this worker holds
    auto const store = tenure::open_store(context, argv[1], {.worker_name = argv[2]});
    Worker worker(store, argv[2], static_cast<std::uint16_t>(std::atoi(argv[3])), ttl);
    asio::co_spawn(context, serve(store, worker), report);
    context.run();
    return 0;
} catch (std::exception const& error) {
    // the log, on standard error as well, has the words of the server
    std::cerr << error.what() << '\n';
    return 1;
}
