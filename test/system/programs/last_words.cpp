// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Logs a line and ends at once, as its argument says.
#include <tenure/tenure.hpp>

#include <boost/asio/io_context.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
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
    if (how != "fork-first")
        log_one(options);
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
