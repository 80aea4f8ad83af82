// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "request.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tenure::zookeeper
{

/** A change of a session, or the event of a watch. */
struct SessionEvent {
    enum class Kind {
        connected,
        disconnected,
        expired,
        authentication_failed,
        /// of a watch, which has fired and ended: the node, or a child of it
        node_changed,
        node_deleted
    };
    Kind kind;
    /// path of the node, for the event of a watch
    std::string path = {};
};

/** Handler of a link's session events, called on the strand, never inside a call to the link. */
class LinkListener
{
public:
    virtual void on_session_event(SessionEvent const& event) = 0;
    /** All servers failed; they are tried again after a pause. */
    virtual void on_no_server() = 0;

protected:
    ~LinkListener() = default;
};

/** The settings that a session gives its link. */
struct LinkSettings {
    /// name of the store, for the log
    std::string name;
    /// numeric addresses, because the C client's resolver would block: `127.0.0.1:2181,::1:2182`
    std::string servers;
    std::chrono::milliseconds timeout{};
    /// `user:password` of the scheme digest; empty: none
    std::string login = {};
};

/** A session's link to the ensemble: one connection after another, until the session ends. `Client` is the real one.
 *
 *  Responses, session events and events of watches are reported in the order in which the server sent them. A watch
 *  ends with its connection. */
class ServerLink
{
public:
    ServerLink() = default;
    ServerLink(ServerLink const&) = delete;
    ServerLink& operator=(ServerLink const&) = delete;
    virtual ~ServerLink() = default;

    virtual void start() = 0;
    /** Sends a request; requires a connection. The handler is never called inside this call. */
    virtual void ask(Request request, ResponseHandler handler) = 0;
    /** Closes at once: open requests are answered ZCLOSING.
     *  @param end_session  also tell the server, which deletes all nodes of the session */
    virtual void close(bool end_session) noexcept = 0;
    /** Ends the connection as if the server had done so; another server is tried next. */
    virtual void drop_connection() = 0;
    /** Only while not connected. */
    virtual void set_servers(std::string const& servers) = 0;

    [[nodiscard]] virtual bool connected() const = 0;
    /** The timeout that the server granted. */
    [[nodiscard]] virtual std::chrono::milliseconds timeout() const = 0;
    [[nodiscard]] virtual std::int64_t session_id() const = 0;
    /** The last error, as text for people. */
    [[nodiscard]] virtual std::string const& last_message() const noexcept = 0;
    /** Just before the current connection was begun. */
    [[nodiscard]] virtual Instant connection_begun() const noexcept = 0;
};

/** Makes the link of a session. The listener outlives it, or closes it. */
using MakeLink = std::function<std::shared_ptr<ServerLink>(LinkSettings const& settings, LinkListener& listener)>;

} // namespace tenure::zookeeper
