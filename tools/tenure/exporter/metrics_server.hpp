// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <cstddef>
#include <functional>
#include <list>
#include <string>

namespace tenure::tool
{

namespace asio = boost::asio;

/** The pages of `MetricsServer`. */
struct MetricsPages {
    /// the page /metrics, in the text format of Prometheus
    std::function<asio::awaitable<std::string>()> metrics;
    /// whether /ready says so
    std::function<bool()> ready;
};

/** Serves /metrics and /ready by HTTP on the program's own loop: no further thread that a fork would lose. */
class MetricsServer
{
public:
    /** Listens.
     *  @param address  HOST:PORT, a host of IPv6 in brackets; port 0 takes a free one
     *  @throws std::invalid_argument if it is no address, or nothing can listen there */
    MetricsServer(asio::any_io_executor executor, std::string const& address, MetricsPages pages);
    MetricsServer(MetricsServer const&) = delete;
    MetricsServer& operator=(MetricsServer const&) = delete;
    ~MetricsServer() = default;

    /** Answers from now on. This object and its pages outlive the loop's last turn. */
    void start();

    /** Where it listens: `http://127.0.0.1:9101/metrics`. */
    [[nodiscard]] std::string url() const;

private:
    [[nodiscard]] asio::awaitable<void> accept();
    [[nodiscard]] asio::awaitable<void> serve(asio::ip::tcp::socket socket);
    /** Ends the connection that has been silent for the longest time; false: all are being answered. */
    [[nodiscard]] bool close_longest_silent();

    asio::ip::tcp::acceptor acceptor_;
    MetricsPages pages_;
    /// connections that are being served
    std::size_t open_ = 0;
    /// connections that have sent no whole request yet, the longest silent one first; each registers itself
    std::list<boost::beast::tcp_stream*> silent_;
};

} // namespace tenure::tool
