// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "exchange.hpp"
#include "reply_reader.hpp"

#include <net/stream.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/etcd_config.hpp>

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

/** Streams over real sockets, with TLS where the config enables it. */
[[nodiscard]] StreamFactory socket_streams();

/** One HTTP/1.1 connection, which carries one exchange at a time, or one stream. Used once; everything on the strand.
 */
class Connection final : public net::StreamEvents, public std::enable_shared_from_this<Connection>
{
public:
    enum class State { connecting, idle, busy, closed };

    /** What becomes of it; called after its state has changed. None is called once `close` was. */
    struct Events {
        std::function<void()> ready;
        /// the exchange, if there was one, has been answered
        std::function<void(net::StreamError const&)> lost;
    };

    /** @param encrypted  the stream speaks TLS */
    Connection(std::shared_ptr<Runtime> runtime, std::shared_ptr<net::Stream> stream, std::string host, bool encrypted);

    void open(Instant deadline, Events events);

    /** The request as HTTP. */
    [[nodiscard]] std::string request_text(HttpRequest const& request, std::string_view token) const;

    /** Writes a request; only while idle. Its handler is called once, and the connection is idle again or closed by
     * then.
     * @param reply_bytes  a longer body is no reply */
    void start(std::string request, std::size_t reply_bytes, OutcomeHandler handler);

    /** Writes a request whose reply is a stream of lines; only while idle. `line` gets each, and the connection is lost
     * when the stream ends. */
    void start_stream(HttpRequest const& request, std::string_view token, std::function<void(std::string_view)> line);

    /** Why it is not connected yet. */
    [[nodiscard]] net::StreamError overdue() const;

    [[nodiscard]] State state() const noexcept { return state_; }
    /** When the request under way was written. */
    [[nodiscard]] Instant busy_since() const noexcept { return since_; }
    /** It has answered something. */
    [[nodiscard]] bool proven() const noexcept { return proven_; }

    /** Ends it without telling; a request under way ends as unknown, or as not sent where it has not left. */
    void close() noexcept;
    /** Ends it as lost, for a reason that the outcome of the request under way names. */
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
    /// null once dropped
    std::shared_ptr<net::Stream> stream_;
    /// for the Host header: host:port
    std::string host_;
    bool encrypted_;
    Events events_;
    State state_ = State::connecting;
    bool proven_ = false;
    /// of the exchange under way
    std::optional<ReplyReader> reader_;
    OutcomeHandler handler_;
    std::function<void(std::string_view)> line_;
    /// the end of the stream that makes no line yet
    std::string partial_;
    Instant since_{};
    /// bytes of the request that have not left
    std::size_t unwritten_ = 0;
    bool writing_ = false;
    /// the reply is there as a whole, and the write is not over
    bool reply_waits_ = false;
};

} // namespace tenure::etcd
