// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process that acquires, holds and releases through the library, over and over, and enters the auditor's cells. It
// waits for each grant until the run is over, so that its pauses and its place among waiters are the library's alone.
//   patient_worker URL AUDIT_FILE SIZE TTL_MS HOLD_MS REST_MS SECONDS
// SIZE is how many slots the default pool has, or `lock`: then it takes the pool's first key as a lock. It wants
// nothing for REST_MS after a release. HOLD_MS and REST_MS are ranges: 500-2000. An error of the store ends it. It is
// also compiled with older versions of the library.
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
#include <stdexcept>
#include <string>

namespace
{

namespace asio = boost::asio;
using std::chrono::milliseconds;
using tenure::test::Auditor;
using tenure::test::boottime_ns;

/** A range of milliseconds. */
class Between
{
public:
    explicit Between(std::string const& text)
        : distribution_(std::stoll(text), std::stoll(text.substr(text.find('-') + 1)))
    {
    }
    template <class Generator>
    [[nodiscard]] milliseconds random(Generator& generator)
    {
        return milliseconds{distribution_(generator)};
    }

private:
    std::uniform_int_distribution<std::int64_t> distribution_;
};

struct Plan {
    Between hold;
    Between rest;
    std::int64_t end;
};

std::uint32_t cell_of(tenure::Lease const& /*lease*/)
{
    return 0;
}

std::uint32_t cell_of(tenure::Slot const& slot)
{
    return slot.id();
}

template <class Lockable>
asio::awaitable<void> take_turns(Lockable lockable, Auditor& auditor, Plan plan)
{
    std::mt19937_64 random{static_cast<std::uint64_t>(::getpid())};
    asio::steady_timer timer{co_await asio::this_coro::executor};
    for (;;) {
        auto const left = (plan.end - boottime_ns()) / 1'000'000;
        if (left <= 0)
            co_return;
        auto result = co_await lockable.async_acquire(
            tenure::AcquireOptions{milliseconds{left}}, asio::as_tuple(asio::use_awaitable));
        auto& [error, lease] = result;
        if (error == tenure::errc::timed_out)
            co_return;
        if (error)
            throw std::runtime_error(error.message());
        auto const until = boottime_ns() + std::chrono::nanoseconds{plan.hold.random(random)}.count();
        co_await tenure::test::hold(lease, cell_of(lease), auditor, until);
        co_await lease.async_release(asio::as_tuple(asio::use_awaitable));
        timer.expires_after(plan.rest.random(random));
        co_await timer.async_wait(asio::use_awaitable);
    }
}

void run(char** argument)
{
    auto auditor = Auditor::open(argument[2]);
    std::string const size = argument[3];
    milliseconds const ttl{std::stoll(argument[4])};
    Plan const plan{
        Between{argument[5]}, Between{argument[6]}, boottime_ns() + std::stoll(argument[7]) * 1'000'000'000};

    asio::io_context context{1};
    auto const done = [&](std::exception_ptr error) {
        context.stop();
        tenure::test::rethrow(error);
    };
    auto const store = tenure::open_store(context.get_executor(), argument[1], {.log = tenure::silent_log_sink()});
    if (size == "lock") {
        tenure::Lock const lock{store, {.key = "thread_id_lock:0", .ttl = ttl}};
        asio::co_spawn(context, take_turns(lock, auditor, plan), done);
    } else {
        tenure::SlotPool const pool{store, {.size = static_cast<std::uint32_t>(std::stoul(size)), .ttl = ttl}};
        asio::co_spawn(context, take_turns(pool, auditor, plan), done);
    }
    context.run();
}

} // namespace

int main(int count, char** argument)
{
    return tenure::test::run_program(
        "patient_worker URL AUDIT_FILE SIZE TTL_MS HOLD_MS REST_MS SECONDS", count, argument, run);
}
