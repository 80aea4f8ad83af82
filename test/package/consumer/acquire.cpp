// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Acquires a slot in every style of asynchronous code that Boost.Asio offers, and says which number it got.
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#if __has_include(<boost/asio/cancel_after.hpp>)
#include <boost/asio/cancel_after.hpp>
#define CONSUMER_HAS_CANCEL_AFTER 1
#endif

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

/** There are no other clients: every way must get the first number, and give it back. */
void expect_first(char const* way, tenure::Slot const& slot)
{
    if (!slot.valid() || slot.id() != 0)
        throw std::runtime_error(std::string(way) + ": no valid slot 0");
    std::cout << way << ": slot " << slot.id() << ", fencing token " << slot.fencing_token() << "\n";
}

asio::awaitable<void> by_coroutine(tenure::SlotPool pool)
{
    {
        tenure::Slot slot = co_await pool.async_acquire();
        expect_first("deferred", slot);
        co_await slot.async_release();
    }
    {
        tenure::Slot slot = co_await pool.async_acquire(asio::use_awaitable);
        expect_first("use_awaitable", slot);
        co_await slot.async_release(asio::use_awaitable);
    }
    {
        auto result = co_await pool.async_acquire(asio::as_tuple(asio::deferred));
        auto& [error, slot] = result;
        if (error)
            throw boost::system::system_error(error);
        expect_first("as_tuple", slot);
        co_await slot.async_release();
    }
#ifdef CONSUMER_HAS_CANCEL_AFTER
    {
        tenure::Slot held = co_await pool.async_acquire(asio::cancel_after(5s));
        expect_first("cancel_after", held);
        // All slots are held now, so that only the limit can end this wait.
        auto result = co_await pool.async_acquire(asio::cancel_after(50ms, asio::as_tuple(asio::deferred)));
        auto& [error, slot] = result;
        if (error != asio::error::operation_aborted || slot.valid())
            throw std::runtime_error("cancel_after: the limit did not end the wait");
        std::cout << "cancel_after: " << error.message() << " after 50 ms\n";
        co_await held.async_release();
    }
#endif
}

void by_callback(asio::io_context& context, tenure::SlotPool const& pool)
{
    bool released = false;
    pool.async_acquire([&released](tenure::error_code error, tenure::Slot slot) {
        if (error)
            throw boost::system::system_error(error);
        expect_first("callback", slot);
        slot.async_release([&released](tenure::error_code failure, tenure::ReleaseOutcome outcome) {
            released = !failure && outcome == tenure::ReleaseOutcome::released;
        });
    });
    context.restart();
    context.run();
    if (!released)
        throw std::runtime_error("callback: not released");
}

void by_future(asio::io_context& context, tenure::SlotPool const& pool)
{
    context.restart();
    auto work = asio::make_work_guard(context);
    std::jthread const runner([&context] { context.run(); });
    tenure::Slot slot = pool.async_acquire(asio::use_future).get();
    expect_first("use_future", slot);
    slot.async_release(asio::use_future).get();
    work.reset();
}

} // namespace

int main()
{
    try {
        asio::io_context context;
        tenure::SlotPool const pool{
            tenure::open_store(context.get_executor(), "memory://"), {.prefix = "consumer:", .size = 1}};
        asio::co_spawn(context, by_coroutine(pool), [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
        context.run();
        by_callback(context, pool);
        by_future(context, pool);
        std::cout << "linked with tenure " << tenure::version() << "\n";
        return EXIT_SUCCESS;
    } catch (std::exception const& failure) {
        std::cerr << "consumer: " << failure.what() << "\n";
        return EXIT_FAILURE;
    }
}
