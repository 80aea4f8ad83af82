// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Jobs that run once per scheduled time, on whichever of several processes gets to it first. The scheduled time is in
// the key, which stays taken when the job is done. If a process dies in a job, another one runs it after the ttl.
//   scheduler STORE_URL [EVERY_MS [TTL_MS]]     runs until SIGINT or SIGTERM; default: every 10 s, 5 s
//
// A time at which no process runs is left out. Every other one is completed once. A process that dies between the last
// write of a job and async_detach leaves a job that is run again: make jobs idempotent, or pass the fencing token to
// what they write.
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

namespace
{

using Time = std::chrono::sys_time<milliseconds>;

/// how late a job may begin
constexpr milliseconds latest = 1min;
/// how long the key stays taken: longer than a process may be late, with a clock that is behind
constexpr milliseconds kept = 2 * latest;

struct Schedule {
    milliseconds every;
    milliseconds ttl;
};

void print(char const* what, std::string const& job, Time time, std::string const& why = {})
{
    std::cout << what << ' ' << time.time_since_epoch().count() << ' ' << job << ' ' << why << std::endl;
}

/** The job itself. A lost lease cancels it where it waits. */
asio::awaitable<void> perform(std::string const& job, Time time, tenure::Lease& lease)
{
    print("begins", job, time);
    asio::steady_timer work(co_await asio::this_coro::executor, 200ms);
    co_await work.async_wait(asio::deferred);
    // a process that was paused continues here before the loss reaches it: look before each write
    if (!lease.valid())
        co_return;
    print("done", job, time);
    co_await lease.async_detach(kept);
}

/** Whether the job is done: its key is taken, and no process holds it. */
asio::awaitable<bool> is_done(tenure::Lock const& lock)
{
    auto const seen = co_await lock.async_inspect(asio::as_tuple(asio::deferred));
    auto const& [error, states] = seen;
    co_return !error && states.front().kind == tenure::KeyState::Kind::kept;
}

/** Performs the job unless another process does. A failure is printed: it ends no other job, nor the schedule. */
asio::awaitable<void> run_once(tenure::Store store, Schedule schedule, std::string job, Time time)
{
    auto const window = tenure::Segments::windows(schedule.every).suffix_of(time);
    tenure::Lock const lock(store, {.key = "job:" + job + ':' + window, .ttl = schedule.ttl});
    auto const work = [&](tenure::Lease& lease) { return perform(job, time, lease); };
    while (std::chrono::system_clock::now() < time + latest) {
        auto acquired = co_await lock.async_acquire(schedule.ttl, asio::as_tuple(asio::deferred));
        auto& [error, lease] = acquired;
        if (error == tenure::errc::closed)
            co_return;
        // waits on while another process has the job, because that process may die
        if (error == tenure::errc::timed_out && co_await is_done(lock))
            co_return;
        // the store is unavailable: the wait for it was the ttl
        if (error == tenure::condition::try_later)
            continue;
        auto const token = lease.token();
        try {
            if (error)
                throw boost::system::system_error(error);
            co_await tenure::async_with_lease(std::move(lease), work);
            co_return;
        } catch (std::exception const& failure) {
            print("not done", job, time, failure.what());
        }
        // A job that fails frees its key for another process. After a loss this process waits with the others.
        if (!is_loss(token.reason()))
            co_return;
    }
    print("given up", job, time);
}

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

asio::awaitable<void> keep_to(tenure::Store store, Schedule schedule)
{
    // a wrong login fails here, at the start
    co_await store.async_ready(10s, tenure::with_details());
    std::cout << "ready" << std::endl;
    auto const executor = co_await asio::this_coro::executor;
    auto const now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
    asio::system_timer next(executor);
    for (auto time = now - now.time_since_epoch() % schedule.every + schedule.every;; time += schedule.every) {
        next.expires_at(time);
        co_await next.async_wait(asio::deferred);
        for (auto const* job : {"backup", "invoices", "statistics"})
            asio::co_spawn(executor, run_once(store, schedule, job, time), report);
    }
}

/** Keeps to the schedule until that fails, or SIGINT or SIGTERM ends it; then nothing is held. */
asio::awaitable<void> serve(tenure::Store store, Schedule schedule)
{
    // closing gives the jobs a second to end; what is not done then is cancelled, and another process takes it over
    co_await tenure::async_serve(store, {.close_within = 1s}, keep_to(store, schedule));
    std::cout << "stopped" << std::endl;
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 2) {
        std::cerr << "usage: scheduler STORE_URL [EVERY_MS [TTL_MS]]\n";
        return 1;
    }
    Schedule const schedule{
        .every = milliseconds(argc > 2 ? std::atol(argv[2]) : 10'000),
        .ttl = milliseconds(argc > 3 ? std::atol(argv[3]) : 5'000)};
    asio::io_context context(1);
    asio::co_spawn(context, serve(tenure::open_store(context, argv[1]), schedule), report);
    context.run();
    return 0;
} catch (std::exception const& error) {
    // the log, on standard error as well, has the words of the server
    std::cerr << error.what() << '\n';
    return 1;
}
