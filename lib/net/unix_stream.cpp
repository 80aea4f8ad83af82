// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "stream_dial.hpp"
#include "stream_kinds.hpp"
#include "stream_socket.hpp"
#include "system_limits.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace tenure::net
{

namespace
{

using UnixSocket = asio::local::stream_protocol::socket;

/** Stream over a Unix socket. */
class UnixStream final : public SocketStream<UnixStream>
{
public:
    static constexpr bool is_plain = true;

    UnixStream(std::shared_ptr<Runtime> runtime, std::string path)
        : SocketStream(std::move(runtime))
        , path_(std::move(path))
        , socket_(runtime_->io_executor())
    {
    }

    void connect(StreamEvents& events, Instant) override
    {
        notify_to(events);
        error_code error;
        open(error);
        if (error) {
            runtime_->post([self = shared_from_this(), error] { self->connected(error); });
            return;
        }
        // a path that is too long was refused in the constructor
        socket_.async_connect(
            asio::local::stream_protocol::endpoint(path_),
            asio::bind_executor(
                runtime_->strand(), [self = shared_from_this()](error_code result) { self->connected(result); }));
    }

    UnixSocket& layer() noexcept { return socket_; }

    void close_socket() noexcept
    {
        error_code ignored;
        socket_.close(ignored);
    }

private:
    void open(error_code& error)
    {
        int const socket = open_socket(AF_UNIX, 0, error);
        if (error)
            return;
        socket_.assign({}, socket, error);
        if (error)
            (void)::close(socket);
    }

    void connected(error_code error)
    {
        if (events() == nullptr)
            return;
        if (error)
            events()->on_connected({error, "cannot connect to " + path_ + ": " + explain_system_error(error), false});
        else
            events()->on_connected({});
    }

    std::string path_;
    UnixSocket socket_;
};

} // namespace

std::shared_ptr<Stream> make_unix_stream(std::shared_ptr<Runtime> const& runtime, std::string path)
{
    // throws if the path is longer than the system accepts
    (void)asio::local::stream_protocol::endpoint(path);
    return std::make_shared<UnixStream>(runtime, std::move(path));
}

} // namespace tenure::net
