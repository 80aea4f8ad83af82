// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "library/session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>

#include <cstdio>
#include <exception>
#include <stdexcept>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

/** Warnings and errors must be visible; routine log lines must not be part of the measurement. */
void log(tenure::LogLevel level, std::string_view line)
{
    if (level >= tenure::LogLevel::warning)
        std::fprintf(stderr, "  %.*s\n", static_cast<int>(line.size()), line.data());
}

} // namespace

void run_session(std::string const& url, std::function<asio::awaitable<void>(tenure::Store)> const& work)
{
    asio::io_context context(1);
    auto store = tenure::open_store(context.get_executor(), url, store_options());
    std::exception_ptr failure;
    asio::co_spawn(context, work(store), [&](std::exception_ptr error) {
        failure = error;
        context.stop();
    });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
}

tenure::StoreOptions store_options()
{
    tenure::StoreOptions options;
    options.log = log;
    return options;
}

tenure::LeaseOptions lease_options(Features features)
{
    tenure::LeaseOptions options;
    options.fencing = features.fencing;
    options.notifications = features.notifications;
    return options;
}

} // namespace bench::library
