// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// One of several copies of one memory image, which was taken while the process had a connected store and held nothing.
//   copied_process URL KEY TTL_MS WAIT_MS
// Prints `ready` when the image may be taken. SIGUSR1 resumes the copy, which acquires the lock: it prints `held` or
// the error. It ends at the next SIGUSR1.
#include "awaited_signal.hpp"
#include "copied_image.hpp"

#include "harness/program.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
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
using namespace std::chrono_literals;

void acquire(tenure::Store const& store, tenure::test::AwaitedSignal const& signal, char** argument)
{
    tenure::Lock const lock{store, {.key = argument[2], .ttl = std::chrono::milliseconds{std::stoll(argument[3])}}};
    store.async_ready(10s, asio::use_future).get();
    std::cout << "ready" << std::endl;
    signal.wait();
    tenure::test::resume_copied_image();
    tenure::AcquireOptions options;
    options.wait = std::chrono::milliseconds{std::stoll(argument[4])};
    auto const result = lock.async_acquire(options, asio::as_tuple(asio::use_future)).get();
    auto const& error = std::get<0>(result);
    std::cout << (error ? error.message() : "held") << std::endl;
    signal.wait();
}

void run(char** argument)
{
    tenure::test::AwaitedSignal const signal(SIGUSR1);
    asio::io_context context{1};
    auto work = asio::make_work_guard(context);
    std::thread thread{[&] { context.run(); }};
    tenure::StoreOptions options;
    options.worker_name = "copy";
    acquire(tenure::open_store(context.get_executor(), argument[1], options), signal, argument);
    work.reset();
    thread.join();
}

} // namespace

int main(int count, char** argument)
{
    return tenure::test::run_program("copied_process URL KEY TTL_MS WAIT_MS", count, argument, run);
}
