// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "exporter/metrics_server.hpp"
#include "keys/loop.hpp"

#include <config/number_from.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace tenure::tool
{

namespace asio = boost::asio;

namespace
{

namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

/// one more ends the connection that has been silent for the longest time; if all are being answered it is closed
constexpr std::size_t most_connections = 32;
/// a connection that is silent for longer is closed
constexpr std::chrono::seconds silence_limit{30};
constexpr std::chrono::milliseconds pause_after_failure{100};
constexpr std::uint32_t longest_header = 8 * 1024;

struct HostAndPort {
    std::string host;
    std::string port;
};

/** @throws std::invalid_argument */
HostAndPort split(std::string const& address)
{
    auto const colon = address.rfind(':');
    auto const port = colon == std::string::npos ? std::string() : address.substr(colon + 1);
    auto host = address.substr(0, colon == std::string::npos ? 0 : colon);
    bool const bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed)
        host = host.substr(1, host.size() - 2);
    if (host.empty() || !number_from<std::uint16_t>(port) || (!bracketed && host.find(':') != std::string::npos))
        throw std::invalid_argument(
            "'" + address +
            "' is not an address to serve metrics on: write HOST:PORT, such as 127.0.0.1:9100 or [::1]:9100");
    return {host, port};
}

tcp::acceptor listen(asio::any_io_executor const& executor, std::string const& address)
{
    auto const [host, port] = split(address);
    try {
        tcp::resolver resolver(executor);
        auto const endpoints = resolver.resolve(host, port, tcp::resolver::passive);
        tcp::acceptor acceptor(executor, endpoints.begin()->endpoint());
        return acceptor;
    } catch (boost::system::system_error const& error) {
        throw std::invalid_argument("cannot serve metrics on " + address + ": " + error.code().message());
    }
}

Response make_response(Request const& request, http::status status, std::string body)
{
    Response response{status, request.version()};
    response.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
    response.keep_alive(request.keep_alive());
    response.body() = std::move(body);
    response.prepare_payload();
    // the length that GET would have
    if (request.method() == http::verb::head)
        response.body().clear();
    return response;
}

} // namespace

MetricsServer::MetricsServer(asio::any_io_executor executor, std::string const& address, MetricsPages pages)
    : acceptor_(listen(executor, address))
    , pages_(std::move(pages))
{
}

std::string MetricsServer::url() const
{
    auto const endpoint = acceptor_.local_endpoint();
    auto const host = endpoint.address().to_string();
    return "http://" + (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port()) +
           "/metrics";
}

void MetricsServer::start()
{
    asio::co_spawn(acceptor_.get_executor(), accept(), asio::detached);
}

asio::awaitable<void> MetricsServer::accept()
{
    asio::steady_timer pause(acceptor_.get_executor());
    for (;;) {
        auto accepted = co_await acceptor_.async_accept(as_result);
        auto const error = std::get<0>(accepted);
        if (error == asio::error::operation_aborted)
            co_return;
        if (error) {
            // too many open files, say: a scrape is lost, the lease is not
            pause.expires_after(pause_after_failure);
            co_await pause.async_wait(as_result);
        } else if (open_ < most_connections || close_longest_silent()) {
            asio::co_spawn(acceptor_.get_executor(), serve(std::move(std::get<1>(accepted))), asio::detached);
        }
    }
}

bool MetricsServer::close_longest_silent()
{
    if (silent_.empty())
        return false;
    // it is still registered when the next connection comes before its read has failed
    auto* const longest = silent_.front();
    silent_.splice(silent_.end(), silent_, silent_.begin());
    // its pending read fails
    longest->cancel();
    return true;
}

asio::awaitable<void> MetricsServer::serve(tcp::socket socket)
{
    ++open_;
    beast::tcp_stream stream(std::move(socket));
    beast::flat_buffer buffer(longest_header);
    bool goes_on = true;
    while (goes_on) {
        http::request_parser<http::empty_body> parser;
        parser.header_limit(longest_header);
        stream.expires_after(silence_limit);
        auto const place = silent_.insert(silent_.end(), &stream);
        auto const read = co_await http::async_read(stream, buffer, parser, as_result);
        silent_.erase(place);
        if (std::get<0>(read))
            break;
        auto const& request = parser.get();
        auto status = http::status::ok;
        std::string body;
        if (request.method() != http::verb::get && request.method() != http::verb::head) {
            status = http::status::method_not_allowed;
            body = "only GET and HEAD\n";
        } else if (request.target() == "/metrics") {
            body = co_await pages_.metrics();
        } else if (request.target() == "/ready") {
            bool const ready = pages_.ready();
            status = ready ? http::status::ok : http::status::service_unavailable;
            body = ready ? "ready\n" : "not ready\n";
        } else {
            status = http::status::not_found;
            body = "the pages are /metrics and /ready\n";
        }
        Response response = make_response(request, status, std::move(body));
        goes_on = response.keep_alive();
        stream.expires_after(silence_limit);
        http::response_serializer<http::string_body> serializer(response);
        std::tuple<boost::system::error_code, std::size_t> written;
        if (request.method() == http::verb::head)
            written = co_await http::async_write_header(stream, serializer, as_result);
        else
            written = co_await http::async_write(stream, serializer, as_result);
        goes_on = goes_on && !std::get<0>(written);
    }
    --open_;
}

} // namespace tenure::tool
