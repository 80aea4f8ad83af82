// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "exchange.hpp"
#include "reply_reader.hpp"
#include "runtime/names.hpp"

#include <net/stream.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/etcd.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::etcd
{

/** Makes an unconnected stream to one endpoint. */
using StreamFactory =
    std::function<std::shared_ptr<net::Stream>(std::shared_ptr<Runtime> const&, EtcdConfig const&, Endpoint const&)>;

/** Makes streams over real sockets, with TLS if the config enables it. */
[[nodiscard]] StreamFactory socket_streams();

/** One HTTP/1.1 connection, which carries one exchange at a time, or one stream. Used once; everything runs on the
 *  strand. */
class Connection final : public net::StreamEvents, public std::enable_shared_from_this<Connection>
{
public:
    enum class State { connecting, idle, busy, closed };

    /** Handlers of state changes, called after the change. No handler is called after `close`. */
    struct Events {
        std::function<void()> ready;
        /// the exchange, if there was one, was already answered
        std::function<void(net::StreamError const&)> lost;
    };

    /** @param encrypted  the stream speaks TLS */
    Connection(std::shared_ptr<Runtime> runtime, std::shared_ptr<net::Stream> stream, std::string host, bool encrypted);

    void open(Instant deadline, Events events);

    /** The request as HTTP. */
    [[nodiscard]] std::string request_text(HttpRequest const& request, std::string_view token) const;

    /** Writes a request; only while idle. Its handler is called once, when the connection is idle again or closed.
     *  @param reply_bytes  a longer body is an error */
    void start(std::string request, std::size_t reply_bytes, OutcomeHandler handler);

    /** Writes a request whose reply is a stream of lines; only while idle. `line` gets each line, and the connection
     *  is lost when the stream ends. */
    void start_stream(HttpRequest const& request, std::string_view token, std::function<void(std::string_view)> line);

    /** Why the connection is not established yet. */
    [[nodiscard]] net::StreamError overdue() const;

    [[nodiscard]] State state() const noexcept { return state_; }
    /** When the pending request was written. */
    [[nodiscard]] Instant busy_since() const noexcept { return since_; }
    /** True after a reply. */
    [[nodiscard]] bool proven() const noexcept { return proven_; }

    /** Closes without calling handlers of events; a pending request ends as unknown, or as not sent if it has not
     *  left. */
    void close() noexcept;
    /** Closes as if lost, with a reason for the outcome of the pending request. */
    void give_up(net::StreamError const& why);

private:
    void on_connected(net::StreamError const& error) override;
    void on_read(net::StreamError const& error, std::string_view bytes) override;
    void on_written(net::StreamError const& error, std::size_t written, std::string buffer) override;

    void write(std::string text);
    void received(std::string_view bytes);
    void take_lines();
    void answer();
    void drop() noexcept;
    /** The error, with a hint for connections that ended before any reply. */
    [[nodiscard]] net::StreamError in_words(net::StreamError error) const;
    [[nodiscard]] Outcome unanswered(net::StreamError const& why) const;

    std::shared_ptr<Runtime> runtime_;
    /// null after the end
    std::shared_ptr<net::Stream> stream_;
    /// for the Host header: host:port
    std::string host_;
    bool encrypted_;
    Events events_;
    State state_ = State::connecting;
    bool proven_ = false;
    /// of the pending exchange
    std::optional<ReplyReader> reader_;
    OutcomeHandler handler_;
    std::function<void(std::string_view)> line_;
    /// an incomplete line at the end of the stream
    std::string partial_;
    Instant since_{};
    /// unsent bytes of the request
    std::size_t unwritten_ = 0;
    bool writing_ = false;
    /// the reply is complete before the write of the request
    bool reply_waits_ = false;
};

} // namespace tenure::etcd
