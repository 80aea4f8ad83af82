// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Logs a line and ends at once, as its argument says.
#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace
{

/** An error line, through a store that is gone when this returns. */
void log_one(tenure::StoreOptions const& options)
{
    boost::asio::io_context context;
    tenure::Lock(tenure::open_store(context.get_executor(), tenure::MemoryConfig{}, options), {.key = "job"})
        .async_acquire({.wait = std::chrono::milliseconds{-7}}, [](tenure::error_code, tenure::Lease const&) {});
    context.run();
}

} // namespace

int main(int, char* argument[])
{
    std::string const how = argument[1];
    tenure::StoreOptions options;
    options.worker_name = "w";
    if (how == "stuck")
        options.log = [](tenure::LogLevel, std::string_view) { std::this_thread::sleep_for(std::chrono::hours{1}); };
    // the parent forks while its log thread owns a mutex of the sink, as that of a logger
    static std::mutex mutex;
    static std::atomic<bool> inside = false;
    if (how == "fork-in-sink")
        options.log = [](tenure::LogLevel, std::string_view line) {
            std::lock_guard const lock(mutex);
            inside = true;
            inside.notify_all();
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
            std::clog << line << std::endl;
        };
    if (how != "fork-first")
        log_one(options);
    if (how == "fork-in-sink")
        inside.wait(false);
    if (how.starts_with("fork")) {
        auto const child = ::fork();
        if (child == 0) {
            log_one(options);
            return 0;
        }
        int status = 0;
        if (::waitpid(child, &status, 0) != child || status != 0)
            return EXIT_FAILURE;
    }
    return 0;
}
