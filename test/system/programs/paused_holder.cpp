// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process that holds a lock until SIGUSR1, and whose first act then is to ask whether the lease is valid.
//   paused_holder URL KEY TTL_MS
// Prints `held`, and in the end `valid V cancelled C state S release R`.
#include "awaited_signal.hpp"

#include "harness/program.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

namespace
{

namespace asio = boost::asio;

void hold(char** argument)
{
    tenure::test::AwaitedSignal const signal(SIGUSR1);
    asio::io_context context{1};
    auto work = asio::make_work_guard(context);
    std::thread thread{[&] { context.run(); }};
    {
        tenure::Lock const lock{
            tenure::open_store(context.get_executor(), argument[1], {.log = tenure::silent_log_sink()}),
            {.key = argument[2], .ttl = std::chrono::milliseconds{std::stoll(argument[3])}}};
        auto lease = lock.async_acquire(asio::use_future).get();
        std::cout << "held" << std::endl;

        signal.wait();
        bool const valid = lease.valid();
        bool const cancelled = lease.token().cancelled();
        auto const state = lease.state();
        auto const outcome = lease.async_release(asio::use_future).get();
        std::cout << "valid " << valid << " cancelled " << cancelled << " state " << to_string(state) << " release "
                  << to_string(outcome) << std::endl;
    }
    work.reset();
    thread.join();
}

} // namespace

int main(int count, char** argument)
{
    return tenure::test::run_program("paused_holder URL KEY TTL_MS", count, argument, hold);
}
