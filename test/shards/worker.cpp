// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// tenure_shard_worker URL NAME SHARDS TTL_MS DRAIN_MS: one member of a group. It writes what its works do to standard
// output, a line for each event, with times of the steady clock in nanoseconds (fleet.py reads them):
//   B SHARD NOW TOKEN VALID_UNTIL    the work begins
//   V SHARD VALID_UNTIL              the lease is valid until then
//   E SHARD NOW                      the work has ended
//   C NOW OWNED MEMBERS              counts, each 100 ms
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <random>
#include <sstream>
#include <string>

namespace
{

namespace asio = boost::asio;
using namespace std::chrono_literals;
using Milliseconds = std::chrono::milliseconds;

template <class... Values>
void say(char what, Values const&... values)
{
    std::ostringstream line;
    line << what;
    ((line << ' ' << values), ...);
    line << '\n';
    auto const text = line.str();
    // one call, so that a killed process leaves whole lines
    if (::write(STDOUT_FILENO, text.data(), text.size()) < 0)
        std::terminate();
}

std::int64_t ns(tenure::Instant instant)
{
    return instant.time_since_epoch().count();
}

std::int64_t now()
{
    return ns(tenure::Clock::now());
}

/** Takes a random part of the drain to end, and one time of eight all of it, until `terminal`. */
asio::awaitable<void> work(tenure::Shard& shard, Milliseconds drain)
{
    static std::mt19937 random(std::random_device{}());
    auto const number = shard.number();
    say('B', number, now(), shard.fencing_token(), ns(shard.valid_until()));
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    tenure::Instant until{};
    while (!shard.token().cancelled()) {
        if (auto const valid = shard.valid_until(); valid != until) {
            until = valid;
            say('V', number, ns(until));
        }
        timer.expires_after(100ms);
        auto const waited = co_await timer.async_wait(asio::as_tuple(asio::deferred));
        static_cast<void>(waited);
    }
    if (!tenure::is_loss(shard.token().reason())) {
        co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
        auto const part = random() % 8 == 0 ? 100 : random() % 100;
        timer.expires_after(drain * static_cast<int>(part) / 100);
        auto const waited = co_await timer.async_wait(asio::as_tuple(asio::deferred));
        static_cast<void>(waited);
    }
    say('V', number, ns(shard.valid_until()));
    say('E', number, now());
}

asio::awaitable<void> tell_counts(tenure::ShardGroup const& group)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (;;) {
        say('C', now(), group.owned().size(), group.members().size());
        timer.expires_after(100ms);
        auto const waited = co_await timer.async_wait(asio::as_tuple(asio::deferred));
        static_cast<void>(waited);
    }
}

} // namespace

int main(int count, char** arguments)
try {
    if (count != 6) {
        std::cerr << "tenure_shard_worker URL NAME SHARDS TTL_MS DRAIN_MS\n";
        return 2;
    }
    asio::io_context loop;
    auto const drain = Milliseconds(std::stol(arguments[5]));
    auto const store = tenure::open_store(loop.get_executor(), arguments[1]);
    tenure::ShardGroup const group(
        store, {.name = arguments[2],
                .shards = static_cast<std::uint32_t>(std::stoul(arguments[3])),
                .ttl = Milliseconds(std::stol(arguments[4])),
                .drain = drain});
    auto const consume = [drain](tenure::Shard& shard) { return work(shard, drain); };
    asio::co_spawn(loop, tell_counts(group), asio::detached);
    std::exception_ptr failure;
    tenure::async_serve(
        store, {.drain = drain + 1s}, tenure::async_run(group, consume), [&](std::exception_ptr thrown) {
            failure = std::move(thrown);
            loop.stop();
        });
    loop.run();
    if (failure)
        std::rethrow_exception(failure);
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
