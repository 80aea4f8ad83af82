// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A process of bounded memory that holds a lock for as long as it can, and takes it again when it has lost it. It is
// for servers that lie: whatever they send, this process tells what became of its lease.
//   bounded_worker URL KEY TTL_MS WAIT_MS MEGABYTES
// MEGABYTES of data beyond what it has when it starts; 0: no limit. Prints lines
//   held FENCING_TOKEN
//   lost LEFT_MS REASON     how long the lease was still valid when the token fired, and why it did
//   failed ERROR MESSAGE | DETAIL
// until SIGTERM; then `released OUTCOME` if it holds the lock, and the exit code is 0.
#include "harness/program.hpp"

#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>

namespace
{

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

/** Allows this process so much data more than it has now. */
void limit_data(rlim_t megabytes)
{
    std::ifstream status{"/proc/self/status"};
    rlim_t kilobytes = 0;
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmData:"))
            kilobytes = std::stoul(line.substr(7));
    rlimit const limit{kilobytes * 1024 + megabytes * 1024 * 1024, RLIM_INFINITY};
    if (kilobytes == 0 || ::setrlimit(RLIMIT_DATA, &limit) != 0)
        throw std::runtime_error("no limit could be set");
}

asio::awaitable<void> hold_on(tenure::Store store, tenure::Lock lock, milliseconds wait, tenure::Lease& lease)
{
    for (;;) {
        auto result = co_await lock.async_acquire(tenure::AcquireOptions{wait}, awaited);
        auto& [error, acquired] = result;
        if (error) {
            std::cout << "failed " << error.value() << " " << error.message() << " | "
                      << store.diagnostics().last_detail << std::endl;
            continue;
        }
        lease = std::move(acquired);
        std::cout << "held " << lease.fencing_token() << std::endl;
        auto const token = lease.token();
        co_await token.async_wait(awaited);
        if (!token.cancelled())
            co_return; // released
        auto const left = std::chrono::floor<milliseconds>(lease.valid_until() - tenure::Clock::now());
        std::cout << "lost " << left.count() << " " << to_string(token.reason()) << std::endl;
    }
}

asio::awaitable<void> end(asio::io_context& context, tenure::Lease& lease)
{
    asio::signal_set asked{context, SIGTERM};
    co_await asked.async_wait(awaited);
    if (lease.valid()) {
        auto const result = co_await lease.async_release(awaited);
        std::cout << "released " << to_string(std::get<1>(result)) << std::endl;
    }
    context.stop();
}

void run(char** argument)
{
    asio::io_context context{1};
    tenure::Store const store =
        tenure::open_store(context.get_executor(), argument[1], {.log = tenure::silent_log_sink()});
    tenure::Lock const lock{store, {.key = argument[2], .ttl = milliseconds{std::stoll(argument[3])}}};
    if (auto const megabytes = std::stoul(argument[5]); megabytes != 0)
        limit_data(megabytes);
    tenure::Lease lease;
    asio::co_spawn(context, hold_on(store, lock, milliseconds{std::stoll(argument[4])}, lease), tenure::test::rethrow);
    asio::co_spawn(context, end(context, lease), [&](std::exception_ptr) {});
    context.run();
}

} // namespace

int main(int count, char** argument)
{
    return tenure::test::run_program("bounded_worker URL KEY TTL_MS WAIT_MS MEGABYTES", count, argument, run);
}
