// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/control.hpp"
#include "library/session.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/this_coro.hpp>

#include <utility>

namespace asio = boost::asio;

namespace bench::library
{

namespace
{

using Socket = asio::local::stream_protocol::socket;

tenure::Lock make_lock(tenure::Store const& store, Features features)
{
    tenure::LockConfig config{"bench:handover", std::chrono::milliseconds{10'000}, lease_options(features)};
    config.fair = features.fair;
    return {store, std::move(config)};
}

/** The next word, heard in the event loop: a lease may be held meanwhile, and its keeper must run. */
asio::awaitable<Word> hear(Socket& socket)
{
    Word word{};
    co_await socket.async_read_some(asio::buffer(&word, sizeof word), asio::deferred);
    co_return word;
}

asio::awaitable<void> play_holder(tenure::Lock lock, int descriptor)
{
    Control const control(descriptor);
    Socket socket(co_await asio::this_coro::executor, asio::local::stream_protocol(), descriptor);
    tenure::Lease lease;
    for (auto word = co_await hear(socket); word != Word::quit; word = co_await hear(socket)) {
        if (word == Word::acquire) {
            auto granted = co_await lock.async_acquire();
            lease = std::move(granted);
        } else {
            auto const begin = instant_now();
            co_await release(lease);
            control.notify(begin);
        }
        control.say(Word::done);
    }
}

asio::awaitable<void> play_waiter(tenure::Lock lock, int descriptor)
{
    Control const control(descriptor);
    Socket socket(co_await asio::this_coro::executor, asio::local::stream_protocol(), descriptor);
    for (auto word = co_await hear(socket); word == Word::wait; word = co_await hear(socket)) {
        control.say(Word::done);
        auto lease = co_await lock.async_acquire();
        auto const end = instant_now();
        co_await release(lease);
        control.notify(end);
        control.say(Word::done);
    }
}

} // namespace

void hold(std::string const& url, int control, Features features)
{
    run_session(url, [&](tenure::Store store) { return play_holder(make_lock(store, features), control); });
}

void wait(std::string const& url, int control, Features features)
{
    run_session(url, [&](tenure::Store store) { return play_waiter(make_lock(store, features), control); });
}

} // namespace bench::library
