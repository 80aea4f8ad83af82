// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Connecting: the dial of a host, and sockets that child processes do not inherit.
#pragma once

#include "name_lookup.hpp"
#include "runtime/names.hpp"
#include "stream.hpp"

#include "runtime/timer.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::net
{

namespace asio = boost::asio;
/// on the executor itself: operations are bound to the strand, or move to it
using TcpSocket = asio::ip::tcp::socket;

/** Resolves a host and connects to the first address that answers. Used once. */
class TcpDial : public std::enable_shared_from_this<TcpDial>
{
public:
    using Handler = std::function<void(StreamError const&, TcpSocket)>;

    TcpDial(std::shared_ptr<Runtime> runtime, std::string host, std::uint16_t port, Instant deadline, Handler handler);

    /** Starts. The handler is called once, on the strand and never inside this call, unless `cancel` comes first. A
     *  silent address gets only its share of the time until the deadline. */
    void start();
    void cancel() noexcept;

private:
    using Endpoint = asio::ip::tcp::endpoint;

    void try_next(error_code last);
    void open(Endpoint const& endpoint, error_code& error);
    void limit_attempt();
    void ended(error_code error);
    void notify(StreamError const& error);

    std::shared_ptr<Runtime> runtime_;
    std::string host_;
    std::uint16_t port_;
    Instant deadline_;
    /// null after the call or `cancel`
    Handler handler_;
    std::optional<NameLookup> lookup_;
    TcpSocket socket_;
    std::vector<Endpoint> endpoints_;
    /// number of endpoints tried, including the current one
    std::size_t tried_ = 0;
    /// ends the attempt at a silent address
    Timer timer_;
};

/** Opens a socket that child processes do not inherit. */
[[nodiscard]] int open_socket(int family, int protocol, error_code& error) noexcept;

} // namespace tenure::net
