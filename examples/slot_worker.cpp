// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A fleet of identical workers: each takes the first free number of a pool, works under it, and stops in time when it
// is lost.
//   slot_worker [STORE_URL]        default: memory://
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/// Stands for the resource that the numbers protect: it rejects older fencing tokens.
std::uint64_t newest_token_seen[2] = {};

asio::awaitable<bool> handle_one_request(tenure::Slot const& slot)
{
    asio::steady_timer pause(co_await asio::this_coro::executor, 20ms);
    // cancelled when the lease can no longer be relied on: the request is given up, not finished late
    auto const [error] = co_await pause.async_wait(tenure::cancel_on(slot.token(), asio::as_tuple(asio::deferred)));
    if (error)
        co_return false;
    auto& newest = newest_token_seen[slot.id()];
    if (slot.fencing_token() < newest)
        co_return false;
    newest = slot.fencing_token();
    co_return true;
}

asio::awaitable<void> worker(tenure::SlotPool pool, int number)
{
    // waits while all slots are held; throws after 30 s (the default), or what AcquireOptions say
    tenure::Slot slot = co_await pool.async_acquire();
    auto const stop = slot.token();

    int requests = 0;
    while (!stop.cancelled() && requests < 5)
        if (co_await handle_one_request(slot))
            ++requests;

    std::cout << "worker " << number << " handled " << requests << " requests under slot " << slot.id() << '\n';
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
    asio::io_context context;
    {
        auto const store = tenure::connect(context.get_executor(), argc > 1 ? argv[1] : "memory://");
        tenure::SlotPool const pool(store, {.prefix = "thread_id_lock:", .size = 2, .ttl = 5s});
        for (int number = 0; number < 4; ++number)
            asio::co_spawn(context, worker(pool, number), report);
    }
    // returns when the store has closed, after its last user is gone
    context.run();
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
