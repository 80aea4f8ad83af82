// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// An HTTP service that hands out Snowflake IDs: 41 bits of milliseconds, 10 bits of worker ID, 12 bits of sequence. The
// worker ID is a slot of a pool, and IDs are made only while it is held. docs/users/worker-ids.md explains every rule.
//   snowflake_service STORE_URL PORT [REUSE_AFTER_MS [TTL_MS]]     GET /id; SIGTERM drains
//   snowflake_service                                              tries itself: three IDs on memory://
//
// Assumption: the clocks of all instances, with every step they make, differ by less than REUSE_AFTER_MS. With 0 there
// is neither quarantine nor a wait for the clock, and IDs repeat: for comparison only.
#include <tenure/tenure.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
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

class SnowflakeService
{
public:
    SnowflakeService(asio::io_context& context, std::uint16_t port, bool wait_for_clock)
        : wait_for_clock_(wait_for_clock)
        , acceptor_(context, tcp::endpoint(asio::ip::address_v4::loopback(), port))
        , session_ended_(context, asio::steady_timer::time_point::max())
    {
    }

    [[nodiscard]] tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

    void start(tenure::SlotPool const& pool)
    {
        asio::co_spawn(acceptor_.get_executor(), accept(), rethrow);
        // a lost slot cancels the work, and another slot is acquired
        pool.async_run(
            [this](tenure::Slot& slot) { return hold(slot); },
            asio::bind_cancellation_slot(drain_.slot(), [this](std::exception_ptr failure) {
                if (!drains_)
                    rethrow(failure);
            }));
    }

    /** Accepts nothing more, answers what has arrived, and releases the slot. */
    void drain()
    {
        drains_ = true;
        acceptor_.close();
        drain_.emit(asio::cancellation_type::terminal);
    }

private:
    static void rethrow(std::exception_ptr failure)
    {
        if (failure)
            std::rethrow_exception(failure);
    }

    /** The slot is held, and IDs are made, while this runs. It ends when the slot is lost or the service has drained.
     */
    asio::awaitable<void> hold(tenure::Slot& slot)
    {
        co_await asio::this_coro::throw_if_cancelled(false);
        token_ = slot.token();
        ids_.emplace(slot.id(), wait_for_clock_);
        std::cout << "worker ID " << slot.id() << std::endl;
        // both the loss and drain() cancel the work; after drain() open sessions still need the slot
        while (!token_.cancelled() && (!drains_ || open_sessions_ > 0))
            co_await session_ended_.async_wait(asio::as_tuple(asio::deferred));
        ids_.reset();
    }

    /** An ID, or none: no slot is held, or the clock stands at or before the last ID. */
    std::optional<std::uint64_t> make_id()
    {
        if (!ids_)
            return std::nullopt;
        auto const id = ids_->next();
        // asked after the clock was read: a process that is stopped in between made its ID while the slot was its own
        return token_.cancelled() ? std::nullopt : id;
    }

    asio::awaitable<void> accept()
    {
        for (;;) {
            auto accepted = co_await acceptor_.async_accept(asio::as_tuple(asio::deferred));
            auto& [error, socket] = accepted;
            if (drains_)
                co_return;
            if (error)
                throw boost::system::system_error(error, "accept");
            asio::co_spawn(acceptor_.get_executor(), serve(std::move(socket)), rethrow);
        }
    }

    asio::awaitable<void> serve(tcp::socket socket)
    {
        ++open_sessions_;
        beast::tcp_stream stream(std::move(socket));
        beast::flat_buffer buffer;
        for (bool alive = true; alive && !drains_;) {
            stream.expires_after(1s);
            http::request<http::empty_body> request;
            auto [read_error, read] =
                co_await http::async_read(stream, buffer, request, asio::as_tuple(asio::deferred));
            if (read_error)
                break;
            http::response<http::string_body> response(http::status::ok, request.version());
            co_await answer(request, response);
            alive = request.keep_alive();
            response.keep_alive(alive && !drains_);
            response.prepare_payload();
            auto [write_error, written] = co_await http::async_write(stream, response, asio::as_tuple(asio::deferred));
            alive = alive && !write_error;
        }
        --open_sessions_;
        session_ended_.cancel();
    }

    asio::awaitable<void>
    answer(http::request<http::empty_body> const& request, http::response<http::string_body>& response)
    {
        if (request.target() != "/id") {
            response.result(http::status::not_found);
            response.body() = "GET /id\n";
            co_return;
        }
        auto id = make_id();
        // of a clock that was set back, up to the patience of a client
        asio::steady_timer pause(acceptor_.get_executor());
        for (int tries = 0; !id && ids_ && tries < 200; ++tries) {
            pause.expires_after(1ms);
            co_await pause.async_wait(asio::deferred);
            id = make_id();
        }
        if (id) {
            response.body() = std::to_string(*id) + "\n";
        } else {
            response.result(http::status::service_unavailable);
            response.set(http::field::retry_after, "1");
            response.body() = ids_ ? "the clock stands behind the last ID; retry\n" : "no worker ID is held; retry\n";
        }
    }

    bool wait_for_clock_;
    tcp::acceptor acceptor_;
    asio::cancellation_signal drain_;
    bool drains_ = false;
    int open_sessions_ = 0;
    /// cancelled whenever a session ends
    asio::steady_timer session_ended_;
    /// of the slot that is held
    tenure::CancellationToken token_;
    /// unset while none is held
    std::optional<IdMaker> ids_;
};

/** Asks for three IDs, and ends the service. */
asio::awaitable<void> try_it(tcp::endpoint endpoint)
{
    beast::tcp_stream stream(co_await asio::this_coro::executor);
    co_await stream.async_connect(endpoint, asio::deferred);
    beast::flat_buffer buffer;
    for (int got = 0; got < 3;) {
        http::request<http::empty_body> request(http::verb::get, "/id", 11);
        request.set(http::field::host, "localhost");
        co_await http::async_write(stream, request, asio::deferred);
        http::response<http::string_body> response;
        co_await http::async_read(stream, buffer, response, asio::deferred);
        if (response.result() != http::status::ok)
            continue;
        ++got;
        std::cout << "ID " << response.body();
    }
    std::raise(SIGTERM);
}

} // namespace

int main(int argc, char** argv)
try {
    auto const number = [&](int argument, long usual) { return argc > argument ? std::atol(argv[argument]) : usual; };
    milliseconds const reuse_after(number(3, 2000));
    milliseconds const ttl(number(4, 5000));

    asio::io_context context(1);
    SnowflakeService service(context, static_cast<std::uint16_t>(number(2, 0)), reuse_after > 0ms);
    asio::signal_set signals(context, SIGTERM, SIGINT);
    signals.async_wait([&](error_code error, int) {
        if (!error)
            service.drain();
    });
    {
        // the work under the pool keeps it: after the end of the work the store closes and the loop returns
        auto const store = tenure::connect(context.get_executor(), argc > 1 ? argv[1] : "memory://");
        service.start({store, {.prefix = "snowflake:", .size = worker_ids, .ttl = ttl, .reuse_after = reuse_after}});
    }
    std::cout << "serving on port " << service.endpoint().port() << std::endl;
    if (argc == 1)
        asio::co_spawn(context, try_it(service.endpoint()), [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
    context.run();
    std::cout << "drained" << std::endl;
    return 0;
} catch (std::exception const& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
