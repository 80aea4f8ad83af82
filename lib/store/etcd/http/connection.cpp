// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Connection: one HTTP exchange at a time, or a stream.
#include "connection.hpp"

#include "limits.hpp"

#include <net/stream_kinds.hpp>
#include <tenure/errc.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace tenure::etcd
{

std::string Connection::request_text(HttpRequest const& request, std::string_view token) const
{
    std::string text;
    text.reserve(160 + host_.size() + token.size() + request.body.size());
    text.append("POST /v3/").append(request.path).append(" HTTP/1.1\r\nHost: ").append(host_);
    // no Content-Type: the gateway assumes JSON, and would pass the field to etcd as a header of the request
    text.append("\r\nGrpc-Metadata-hasleader: true\r\nContent-Length: ");
    text.append(std::to_string(request.body.size()));
    if (!token.empty())
        text.append("\r\nAuthorization: ").append(token);
    text.append("\r\n\r\n").append(request.body);
    return text;
}

StreamFactory socket_streams()
{
    return [](std::shared_ptr<Runtime> const& runtime, EtcdConfig const& config, Endpoint const& endpoint) {
        return net::make_network_stream(runtime, endpoint.host, endpoint.port, config.tls);
    };
}

Connection::Connection(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<net::Stream> stream, std::string host, bool encrypted)
    : runtime_(std::move(runtime))
    , stream_(std::move(stream))
    , host_(std::move(host))
    , encrypted_(encrypted)
{
}

void Connection::open(Instant deadline, Events events)
{
    events_ = std::move(events);
    stream_->connect(*this, deadline);
}

void Connection::start(std::string request, std::size_t reply_bytes, OutcomeHandler handler)
{
    reader_.emplace(reply_bytes);
    handler_ = std::move(handler);
    write(std::move(request));
}

void Connection::start_stream(
    HttpRequest const& request, std::string_view token, std::function<void(std::string_view)> line)
{
    reader_.emplace(most_line_bytes, true);
    line_ = std::move(line);
    write(request_text(request, token));
}

void Connection::close() noexcept
{
    drop();
    line_ = nullptr;
    if (handler_)
        runtime_->post(
            [handler = std::move(handler_),
             outcome = unanswered({make_error_code(errc::closed), "the store was closed", false})]() mutable {
                std::move(handler)(std::move(outcome));
            });
}

net::StreamError Connection::overdue() const
{
    if (auto why = stream_ != nullptr ? stream_->overdue() : net::StreamError(); why)
        return why;
    return {make_error_code(errc::store_unavailable), "no connection in time", false};
}

// -- events of the stream --

void Connection::on_connected(net::StreamError const& error)
{
    auto const self = shared_from_this();
    if (error) {
        give_up(error);
        return;
    }
    state_ = State::idle;
    stream_->read();
    auto const ready = events_.ready;
    ready();
}

void Connection::on_read(net::StreamError const& error, std::string_view bytes)
{
    auto const self = shared_from_this();
    if (!error)
        received(bytes);
    else if (reader_ && handler_ && reader_->end() == ReplyReader::State::complete)
        answer();
    else
        give_up(in_words(error));
    if (stream_ != nullptr)
        stream_->read();
}

void Connection::on_written(net::StreamError const& error, std::size_t written, std::string)
{
    auto const self = shared_from_this();
    writing_ = false;
    unwritten_ -= std::min(written, unwritten_);
    if (error)
        give_up(error);
    else if (std::exchange(reply_waits_, false))
        answer();
}

// -- the exchange --

void Connection::write(std::string text)
{
    state_ = State::busy;
    since_ = runtime_->now();
    unwritten_ = text.size();
    auto const sent = stream_->write_now(text);
    unwritten_ -= sent;
    if (unwritten_ == 0)
        return;
    text.erase(0, sent);
    writing_ = true;
    stream_->write(std::move(text));
}

void Connection::received(std::string_view bytes)
{
    if (!reader_) {
        give_up({make_error_code(errc::protocol_error), "bytes without a request", false});
        return;
    }
    auto const state = reader_->feed(bytes);
    if (line_ && state != ReplyReader::State::broken)
        take_lines();
    if (stream_ == nullptr)
        return;
    if (state == ReplyReader::State::broken)
        give_up({make_error_code(errc::protocol_error), "malformed reply: " + reader_->error(), false});
    else if (state == ReplyReader::State::complete && writing_ && !line_)
        reply_waits_ = true; // the reply may precede the event that the request was written
    else if (state == ReplyReader::State::complete)
        answer();
}

void Connection::take_lines()
{
    partial_ += reader_->take_body();
    std::size_t begin = 0;
    for (auto end = partial_.find('\n'); end != std::string::npos && stream_ != nullptr;
         begin = end + 1, end = partial_.find('\n', begin)) {
        proven_ = true;
        auto const line = line_; // it may end the stream
        line(std::string_view(partial_).substr(begin, end - begin));
    }
    partial_.erase(0, begin);
    if (partial_.size() > most_line_bytes)
        give_up({make_error_code(errc::protocol_error), "a line of a stream that is longer than 1 MiB", false});
}

void Connection::answer()
{
    if (line_) {
        // an error comes without an end of line
        if (auto const line = line_; !partial_.empty())
            line(std::exchange(partial_, {}));
        give_up({make_error_code(errc::store_unavailable), "the server ended the stream", false});
        return;
    }
    Outcome outcome{{.delivery = Delivery::answered, .since = since_}, reader_->status(), reader_->take_body()};
    bool const goes_on = reader_->keeps_alive();
    reader_.reset();
    proven_ = true;
    auto handler = std::exchange(handler_, nullptr);
    if (goes_on) {
        state_ = State::idle;
        auto const ready = events_.ready;
        std::move(handler)(std::move(outcome));
        if (state_ == State::idle && ready)
            ready();
        return;
    }
    auto const lost = events_.lost;
    drop();
    std::move(handler)(std::move(outcome));
    lost({make_error_code(errc::store_unavailable), "the server closed the connection", false});
}

void Connection::give_up(net::StreamError const& why)
{
    if (state_ == State::closed)
        return;
    auto const lost = events_.lost;
    drop();
    line_ = nullptr;
    if (handler_) {
        auto outcome = unanswered(why);
        auto handler = std::exchange(handler_, nullptr);
        std::move(handler)(std::move(outcome));
    }
    lost(why);
}

void Connection::drop() noexcept
{
    state_ = State::closed;
    events_ = {};
    if (auto const stream = std::exchange(stream_, nullptr))
        stream->close();
}

net::StreamError Connection::in_words(net::StreamError error) const
{
    if (proven_ || error.code != asio::error::eof)
        return error;
    error.detail = error.text() + " before it answered anything";
    // a TLS server closes an unencrypted connection without an error
    if (!encrypted_)
        error.detail += "; if it speaks TLS, use etcds://";
    return error;
}

Outcome Connection::unanswered(net::StreamError const& why) const
{
    // The server does not execute a request without its end, because the length was announced. While a write is
    // pending, the sent part is unknown.
    bool const not_sent = unwritten_ > 0 && !writing_;
    bool const is_public = why.code == errc::protocol_error || why.code == errc::closed || why.fatal;
    return {
        {.delivery = not_sent ? Delivery::not_sent : Delivery::unknown,
         .since = since_,
         .error = is_public ? why.code : make_error_code(errc::store_unavailable),
         .detail = why.text()}};
}

} // namespace tenure::etcd
