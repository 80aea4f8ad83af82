// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "stream_dial.hpp"
#include "stream_kinds.hpp"
#include "stream_socket.hpp"

#include <utility>

namespace tenure::net
{

namespace
{

/** Stream over TCP. */
class TcpStream final : public SocketStream<TcpStream>
{
public:
    static constexpr bool is_plain = true;

    TcpStream(std::shared_ptr<Runtime> runtime, std::string host, std::uint16_t port)
        : SocketStream(std::move(runtime))
        , host_(std::move(host))
        , port_(port)
        , socket_(runtime_->io_executor())
    {
    }

    void connect(StreamEvents& events, Instant deadline) override
    {
        notify_to(events);
        dial_ = std::make_shared<TcpDial>(
            runtime_, host_, port_, deadline, [self = shared_from_this()](StreamError const& error, TcpSocket socket) {
                self->dial_.reset();
                self->socket_ = std::move(socket);
                if (self->events() != nullptr)
                    self->events()->on_connected(error);
            });
        dial_->start();
    }

    TcpSocket& layer() noexcept { return socket_; }

    void close_socket() noexcept
    {
        if (auto const dial = std::exchange(dial_, nullptr))
            dial->cancel();
        error_code ignored;
        socket_.close(ignored);
    }

private:
    std::string host_;
    std::uint16_t port_;
    /// while connecting
    std::shared_ptr<TcpDial> dial_;
    TcpSocket socket_;
};

} // namespace

std::shared_ptr<Stream> make_tcp_stream(std::shared_ptr<Runtime> const& runtime, std::string host, std::uint16_t port)
{
    return std::make_shared<TcpStream>(runtime, std::move(host), port);
}

} // namespace tenure::net
