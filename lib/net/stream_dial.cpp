// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// TcpDial: connects to the first address that answers.
#include "stream_dial.hpp"

#include "system_limits.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tenure::net
{

namespace
{

void set_option(int socket, int level, int name, int value) noexcept
{
    // an option that the system does not know or permit is skipped
    (void)::setsockopt(socket, level, name, &value, sizeof value);
}

/** Turns off the delay of small writes, and detects silently lost peers. */
void tune(int socket) noexcept
{
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
#ifdef TCP_USER_TIMEOUT
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
#endif
}

} // namespace

int open_socket(int family, int protocol, error_code& error) noexcept
{
    // Asio would set close-on-exec later or never: a fork in between would inherit the connection
    int const socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
    error = socket < 0 ? error_code(errno, boost::system::system_category()) : error_code();
    return socket;
}

TcpDial::TcpDial(
    std::shared_ptr<Runtime> runtime, std::string host, std::uint16_t port, Instant deadline, Handler handler)
    : runtime_(std::move(runtime))
    , host_(std::move(host))
    , port_(port)
    , deadline_(deadline)
    , handler_(std::move(handler))
    , socket_(runtime_->io_executor())
    , timer_(*runtime_)
{
}

void TcpDial::start()
{
    lookup_.emplace(
        runtime_, host_, [weak = weak_from_this()](StreamError const& error, NameLookup::Addresses const& addresses) {
            auto const self = weak.lock();
            if (!self || !self->handler_)
                return;
            for (auto const& address : addresses)
                self->endpoints_.emplace_back(address, self->port_);
            if (error)
                self->notify({error.code, NameLookup::explain(self->host_, error), false});
            else
                self->try_next(asio::error::host_not_found);
        });
}

void TcpDial::cancel() noexcept
{
    handler_ = nullptr;
    timer_.cancel();
    lookup_.reset();
    error_code ignored;
    socket_.close(ignored);
}

void TcpDial::try_next(error_code last)
{
    if (!handler_)
        return;
    if (tried_ == endpoints_.size()) {
        std::string detail =
            "cannot connect to " + host_ + " port " + std::to_string(port_) + ": " + explain_system_error(last);
        if (tried_ > 1)
            detail += " (the last of " + std::to_string(tried_) + " addresses)";
        notify({last, std::move(detail), false});
        return;
    }
    auto const endpoint = endpoints_[tried_++];
    error_code error;
    open(endpoint, error);
    if (error) {
        try_next(error);
        return;
    }
    limit_attempt();
    socket_.async_connect(
        endpoint, asio::bind_executor(
                      runtime_->strand(), [self = shared_from_this()](error_code result) { self->ended(result); }));
}

void TcpDial::open(Endpoint const& endpoint, error_code& error)
{
    socket_.close(error);
    int const socket = open_socket(endpoint.protocol().family(), endpoint.protocol().protocol(), error);
    if (error)
        return;
    tune(socket);
    socket_.assign(endpoint.protocol(), socket, error);
    if (error)
        (void)::close(socket);
}

void TcpDial::limit_attempt()
{
    auto const others = endpoints_.size() - tried_;
    if (others == 0)
        return; // the owner enforces the deadline
    auto const now = runtime_->now();
    auto const share = (deadline_ - now) / static_cast<std::int64_t>(others + 1);
    timer_.at(now + share, weak_from_this(), [](TcpDial& self) {
        // ends the attempt as aborted
        error_code ignored;
        self.socket_.close(ignored);
    });
}

void TcpDial::ended(error_code error)
{
    timer_.cancel();
    if (!handler_)
        return;
    if (!error && !socket_.is_open())
        error = asio::error::operation_aborted; // the timer was faster
    if (error) {
        try_next(error == asio::error::operation_aborted ? error_code(asio::error::timed_out) : error);
        return;
    }
    auto const handler = std::exchange(handler_, nullptr);
    handler({}, std::move(socket_));
}

void TcpDial::notify(StreamError const& error)
{
    auto const handler = std::exchange(handler_, nullptr);
    handler(error, TcpSocket(runtime_->io_executor()));
}

} // namespace tenure::net
