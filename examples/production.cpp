// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A service as production configures it: sentinels, TLS, an ACL user whose password is in a file and may change, a
// start that fails with a clear message, a log for journald, statistics for Prometheus, and a store with a thread of
// its own, because the work blocks the loop.
//   production     runs until SIGINT or SIGTERM; takes its settings from the environment:
//     STORE_SENTINELS=host:port,...  STORE_MASTER  STORE_USER  STORE_PASSWORD_FILE  STORE_CA  METRICS_FILE
#include <tenure/tenure.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace
{

std::string setting(std::string const& name)
{
    char const* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0')
        throw std::invalid_argument("set the environment variable " + name);
    return value;
}

/** Read at each login, so that a new password needs no restart. It is in a file, because other users of a machine can
 * see the arguments of a process. */
tenure::Credentials read_credentials()
{
    auto const file = setting("STORE_PASSWORD_FILE");
    tenure::Credentials credentials{.username = setting("STORE_USER")};
    if (std::ifstream in(file); !std::getline(in, credentials.password))
        throw std::runtime_error("cannot read a password from " + file);
    return credentials;
}

/** Lines for journald, which takes the priority from the number in front. */
void write_journal(tenure::LogLevel level, std::string_view line)
{
    auto const* const priority = level == tenure::LogLevel::error     ? "<3>"
                                 : level == tenure::LogLevel::warning ? "<4>"
                                                                      : "<6>";
    std::cerr << priority << line << std::endl;
}

tenure::Store open_store(asio::io_context& context)
{
    tenure::RedisSentinelConfig config;
    std::istringstream sentinels(setting("STORE_SENTINELS"));
    for (std::string each; std::getline(sentinels, each, ',');) {
        auto const colon = each.rfind(':');
        std::uint16_t port = 0;
        auto const* const end = each.data() + each.size();
        if (colon == std::string::npos || std::from_chars(each.data() + colon + 1, end, port).ptr != end || port == 0)
            throw std::invalid_argument("STORE_SENTINELS: write HOST:PORT, not " + each);
        config.sentinels.push_back({.host = each.substr(0, colon), .port = port});
    }
    config.master_name = setting("STORE_MASTER");
    config.credentials = read_credentials;
    // the sentinels take nothing from the settings of the servers
    config.tls = {.enabled = true, .ca_file = setting("STORE_CA")};
    config.sentinel_tls = config.tls;
    // a missing file is found here, before any attempt to log in
    (void)read_credentials();
    return tenure::open_store(
        context, config, {.log = write_journal, .log_level = tenure::LogLevel::info, .own_thread = true});
}

/** For the textfile collector of the node exporter, which must not read half a file. */
void write_metrics(tenure::Store const& store, std::string const& file)
{
    auto const numbers = store.statistics();
    std::ofstream(file + ".new") << "tenure_held " << numbers.held << "\ntenure_renewals_total " << numbers.renewals
                                 << "\ntenure_renewals_failed_total " << numbers.renewals_failed
                                 << "\ntenure_lost_total " << numbers.lost.total() << '\n';
    std::error_code ignored;
    std::filesystem::rename(file + ".new", file, ignored);
}

asio::awaitable<void> keep_metrics(tenure::Store store, std::string file)
{
    asio::steady_timer second(co_await asio::this_coro::executor);
    for (;;) {
        write_metrics(store, file);
        second.expires_after(1s);
        co_await second.async_wait(asio::deferred);
    }
}

/** Blocks the loop for two thirds of the ttl, as a driver without an asynchronous interface does. */
asio::awaitable<void> import_batches(tenure::Lease& lease)
{
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (;;) {
        std::this_thread::sleep_for(2s);
        // nothing could cancel this coroutine meanwhile: look before each write
        if (!lease.valid())
            co_return;
        std::cout << "imported a batch" << std::endl;
        // Let a signal, a loss and the metrics have their turn. A post would give each of their steps another batch.
        pause.expires_after(50ms);
        co_await pause.async_wait(asio::deferred);
    }
}

asio::awaitable<void> run(tenure::Store store)
{
    // throws at once if the login, the permissions or TLS are wrong, and after 10 s if there is no master
    co_await store.async_ready(10s, tenure::with_details());
    std::cout << "ready: " << store.describe() << std::endl;
    tenure::Lock const lock(store, {.key = "orders:import", .ttl = 3s});
    co_await tenure::async_run(lock, import_batches);
}

/** Works until that fails, or SIGINT or SIGTERM ends it; then nothing is held. */
asio::awaitable<void> serve(tenure::Store store, std::string metrics)
{
    try {
        co_await tenure::async_serve(store, {.close_within = 1s}, run(store), keep_metrics(store, metrics));
    } catch (...) {
        write_metrics(store, metrics);
        throw;
    }
    write_metrics(store, metrics);
    std::cout << "stopped" << std::endl;
}

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

} // namespace

int main()
try {
    asio::io_context context(1);
    auto const store = open_store(context);
    asio::co_spawn(context, serve(store, setting("METRICS_FILE")), report);
    context.run();
    return 0;
} catch (std::exception const& error) {
    // with the words of the server, if it is a tenure::error; never a secret
    std::cerr << "<3>" << error.what() << '\n';
    return 1;
}
