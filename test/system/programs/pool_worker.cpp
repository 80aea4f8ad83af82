// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process that takes slots of the default pool through the library, over and over, and enters the auditor's cells.
//   pool_worker URL AUDIT_FILE SIZE TTL_MS LONGEST_HOLD_MS SECONDS
// Errors of the store end a turn, not the process: servers may come and go under it.
#include "harness/auditor.hpp"
#include "harness/program.hpp"
#include "system/programs/audited_hold.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <random>
#include <string>

namespace
{

namespace asio = boost::asio;
using std::chrono::milliseconds;
using tenure::test::Auditor;
using tenure::test::boottime_ns;

struct Plan {
    std::int64_t longest_hold_ms;
    std::int64_t end;
};

asio::awaitable<void> take_turns(tenure::SlotPool pool, Auditor& auditor, Plan plan)
{
    std::mt19937_64 random{static_cast<std::uint64_t>(::getpid())};
    asio::steady_timer timer{co_await asio::this_coro::executor};
    while (boottime_ns() < plan.end) {
        auto result = co_await pool.async_acquire(
            tenure::AcquireOptions{milliseconds{1000}}, asio::as_tuple(asio::use_awaitable));
        auto& [error, slot] = result;
        if (error) {
            timer.expires_after(milliseconds{10});
            co_await timer.async_wait(asio::use_awaitable);
            continue;
        }
        auto const time = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(plan.longest_hold_ms));
        co_await tenure::test::hold(slot, slot.id(), auditor, boottime_ns() + time * 1'000'000);
        co_await slot.async_release(asio::as_tuple(asio::use_awaitable));
    }
}

void run(char** argument)
{
    auto auditor = Auditor::open(argument[2]);
    asio::io_context context{1};
    tenure::SlotPool const pool{
        tenure::open_store(context.get_executor(), argument[1], {.log = tenure::silent_log_sink()}),
        {.size = static_cast<std::uint32_t>(std::stoul(argument[3])), .ttl = milliseconds{std::stoll(argument[4])}}};
    Plan const plan{std::stoll(argument[5]), boottime_ns() + std::stoll(argument[6]) * 1'000'000'000};
    asio::co_spawn(context, take_turns(pool, auditor, plan), [&](std::exception_ptr error) {
        context.stop();
        tenure::test::rethrow(error);
    });
    context.run();
}

} // namespace

int main(int count, char** argument)
{
    return tenure::test::run_program(
        "pool_worker URL AUDIT_FILE SIZE TTL_MS LONGEST_HOLD_MS SECONDS", count, argument, run);
}
