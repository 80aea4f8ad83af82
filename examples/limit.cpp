// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// At most LIMIT jobs at a time, over all processes on a store. The jobs block, as calls of a library or a database
// driver do: they run on threads for them, and the loop that renews the leases stays free.
//   limit STORE_URL NAME LIMIT [TTL_MS]     runs until SIGINT or SIGTERM, which waits for the jobs that run
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** Blocks its thread. False: it was told to stop, and has left nothing half done. */
bool convert(std::stop_token const& stop)
{
    for (int part = 0; part < 20; ++part) {
        if (stop.stop_requested())
            return false;
        std::this_thread::sleep_for(50ms);
    }
    return true;
}

asio::awaitable<bool> convert_on_thread(std::stop_token stop)
{
    co_return convert(stop);
}

/** Runs two jobs at once, if the limit leaves room for them. */
class Converter
{
public:
    Converter(asio::io_context& context, tenure::Store store, std::string name, tenure::SlotPool limit)
        : store_(std::move(store))
        , name_(std::move(name))
        , limit_(std::move(limit))
        , signals_(context, SIGINT, SIGTERM)
    {
    }

    /** Converts until that fails, or a signal ends it; then nothing is held. */
    asio::awaitable<void> serve()
    {
        auto const executor = co_await asio::this_coro::executor;
        auto const ended = [this](std::exception_ptr failure) {
            if (failure && !failure_)
                failure_ = failure;
            signals_.cancel();
        };
        for (int i = 0; i < 2; ++i)
            asio::co_spawn(executor, convert_all(), ended);
        co_await signals_.async_wait(asio::as_tuple(asio::deferred));
        auto const failure = failure_;
        // No job begins from now on. Those that run keep their leases for up to 10 s; then their stop tokens stop them.
        co_await store_.async_close(10s, asio::as_tuple(asio::deferred));
        if (failure)
            std::rethrow_exception(failure);
        std::cout << name_ << " stopped" << std::endl;
    }

private:
    asio::awaitable<void> convert_all()
    {
        // a wrong login fails here, at the start
        co_await store_.async_ready(10s, tenure::with_details());
        for (;;) {
            // waits in line with the other processes, and blocks no thread meanwhile
            auto granted = co_await limit_.async_acquire(tenure::forever, asio::as_tuple(asio::deferred));
            auto& [error, place] = granted;
            if (error == tenure::errc::closed)
                co_return;
            if (error)
                throw boost::system::system_error(error);
            print("begins", place.id());
            // The stop token stops the job if the place is lost: another job may begin there when `valid_until` passes.
            bool const done =
                co_await asio::co_spawn(threads_, convert_on_thread(place.token().stop_token()), asio::deferred);
            print(done ? "ends" : "gives up", place.id());
            co_await place.async_release(asio::as_tuple(asio::deferred));
        }
    }

    void print(char const* what, std::uint32_t place) const
    {
        // one write: several processes may share a log
        std::cout << name_ + ' ' + what + " at " + std::to_string(place) + '\n' << std::flush;
    }

    tenure::Store store_;
    std::string name_;
    tenure::SlotPool limit_;
    asio::signal_set signals_;
    /// the first failure of a job's coroutine
    std::exception_ptr failure_;
    /// as many as jobs at once, so that no job that holds a place waits for a thread
    asio::thread_pool threads_{2};
};

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 4) {
        std::cerr << "usage: limit STORE_URL NAME LIMIT [TTL_MS]\n";
        return 1;
    }
    auto const most = static_cast<std::uint32_t>(std::atol(argv[3]));
    std::chrono::milliseconds const ttl(argc > 4 ? std::atol(argv[4]) : 5000);
    asio::io_context context(1);
    auto const store = tenure::open_store(context, argv[1], {.worker_name = argv[2]});
    Converter converter(context, store, argv[2], {store, {.prefix = "convert:", .size = most, .ttl = ttl}});
    asio::co_spawn(context, converter.serve(), report);
    context.run();
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
