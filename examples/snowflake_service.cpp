// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// A TCP service that hands out Snowflake IDs: 41 bits of milliseconds, 10 bits of worker ID, 12 bits of sequence. The
// worker ID is a slot of a pool, and IDs are made only while it is held. docs/users/worker-ids.md explains every rule.
//   snowflake_service STORE_URL PORT [REUSE_AFTER_MS [TTL_MS]]     each line gets an ID; SIGINT and SIGTERM drain
//
// Assumption: the clocks of all instances, with every step they make, differ by less than REUSE_AFTER_MS. With 0 there
// is neither quarantine nor a wait for the clock, and IDs repeat: for comparison only.
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

namespace
{

constexpr std::uint32_t worker_ids = 1024;
constexpr std::uint64_t ids_per_millisecond = 4096;

/** Milliseconds of the wall clock since 2024 began (UTC). */
std::int64_t wall_clock()
{
    constexpr auto epoch = std::chrono::sys_days{std::chrono::January / 1 / 2024};
    return std::chrono::floor<milliseconds>(std::chrono::system_clock::now() - epoch).count();
}

/** Makes the IDs of one worker ID. Its own time never goes back: where the clock does, it stays, and uses up the
 * sequence of its last millisecond. */
class IdMaker
{
public:
    /** @param wait_for_clock  make nothing before the clock has passed the present millisecond: an earlier holder may
     * have used it */
    IdMaker(std::uint32_t worker, bool wait_for_clock)
        : worker_(worker)
        , last_(wait_for_clock ? wall_clock() : 0)
        , used_(ids_per_millisecond)
    {
    }

    /** Unset: the clock has to go on first. */
    std::optional<std::uint64_t> next()
    {
        if (auto const now = wall_clock(); now > last_) {
            last_ = now;
            used_ = 0;
        }
        if (used_ == ids_per_millisecond)
            return std::nullopt;
        return static_cast<std::uint64_t>(last_) << 22U | std::uint64_t{worker_} << 12U | used_++;
    }

private:
    std::uint32_t worker_;
    /// the millisecond of the last ID, and how many IDs it has
    std::int64_t last_;
    std::uint64_t used_;
};

/** The service under one worker ID. */
struct Service {
    tenure::Slot& slot;
    IdMaker ids;
    /// cancelled when a client is gone
    asio::steady_timer client_gone;
    std::set<tcp::socket*> clients = {};
};

/** Answers each line of a client, until the client is gone, the worker ID is lost or the service drains. */
asio::awaitable<void> answer(Service& service, tcp::socket socket)
{
    service.clients.insert(&socket);
    asio::steady_timer pause(socket.get_executor());
    boost::system::error_code error;
    for (std::string line; !error;) {
        auto const read = co_await asio::async_read_until(
            socket, asio::dynamic_buffer(line, 100), '\n', asio::as_tuple(asio::deferred));
        if (error = std::get<0>(read); error)
            break;
        line.erase(0, std::get<1>(read));
        auto id = service.ids.next();
        // for a clock that was set back, up to the patience of a client
        for (int tries = 0; !id && tries < 200; ++tries) {
            pause.expires_after(1ms);
            co_await pause.async_wait(asio::deferred);
            id = service.ids.next();
        }
        // Ask after the clock was read. A process that is stopped in between made its ID while the slot was its own.
        if (service.slot.token().cancelled())
            break;
        auto const reply = id ? std::to_string(*id) + '\n' : "the clock stands behind the last ID; retry\n";
        auto const written = co_await asio::async_write(socket, asio::buffer(reply), asio::as_tuple(asio::deferred));
        error = std::get<0>(written);
    }
    service.clients.erase(&socket);
    service.client_gone.cancel();
}

void report(std::exception_ptr failure)
{
    if (failure)
        std::rethrow_exception(failure);
}

/** Listens until a loss of the worker ID or a signal cancels it; returns after the last ID. */
asio::awaitable<void> serve(tenure::Slot& slot, tcp::endpoint endpoint, bool wait_for_clock)
{
    // cancellation ends the accept, and not the drain that follows
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    auto const executor = co_await asio::this_coro::executor;
    Service service{
        .slot = slot, .ids = IdMaker(slot.id(), wait_for_clock), .client_gone = asio::steady_timer(executor)};
    tcp::acceptor acceptor(executor, endpoint);
    std::cout << "worker ID " << slot.id() << std::endl;
    boost::system::error_code error;
    while (!error) {
        auto accepted = co_await acceptor.async_accept(asio::as_tuple(asio::deferred));
        error = std::get<0>(accepted);
        if (!error)
            asio::co_spawn(executor, answer(service, std::move(std::get<1>(accepted))), report);
    }
    acceptor.close();
    // what has arrived is still answered, unless the worker ID is lost
    boost::system::error_code ignored;
    for (auto* client : service.clients)
        client->shutdown(tcp::socket::shutdown_receive, ignored);
    while (!service.clients.empty()) {
        service.client_gone.expires_after(2s);
        auto const waited = co_await service.client_gone.async_wait(asio::as_tuple(asio::deferred));
        // a client that reads nothing holds up the end no longer
        if (!std::get<0>(waited))
            for (auto* client : service.clients)
                client->close(ignored);
    }
    if (error != asio::error::operation_aborted)
        throw boost::system::system_error(error, "accept");
}

/** Serves until that fails, or SIGINT or SIGTERM ends it; then nothing is held. */
asio::awaitable<void> run(tenure::SlotPool pool, tenure::Store store, tcp::endpoint endpoint, bool wait_for_clock)
{
    auto const work = [=](tenure::Slot& slot) { return serve(slot, endpoint, wait_for_clock); };
    // waits for a store that is unavailable; a wrong login ends it at once
    co_await tenure::async_serve(store, {.drain = 5s, .close_within = 1s}, tenure::async_run(pool, work));
    std::cout << "drained" << std::endl;
}

} // namespace

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: snowflake_service STORE_URL PORT [REUSE_AFTER_MS [TTL_MS]]\n";
        return 1;
    }
    milliseconds const reuse_after(argc > 3 ? std::atol(argv[3]) : 2000);
    milliseconds const ttl(argc > 4 ? std::atol(argv[4]) : 5000);
    tcp::endpoint const endpoint(asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::atoi(argv[2])));
    asio::io_context context(1);
    auto const store = tenure::open_store(context, argv[1]);
    tenure::SlotPool const ids(
        store, {.prefix = "snowflake:", .size = worker_ids, .ttl = ttl, .reuse_after = reuse_after});
    asio::co_spawn(context, run(ids, store, endpoint, reuse_after > 0ms), report);
    context.run();
    return 0;
} catch (std::exception const& error) {
    // the log, on standard error as well, has the words of the server
    std::cerr << error.what() << '\n';
    return 1;
}
