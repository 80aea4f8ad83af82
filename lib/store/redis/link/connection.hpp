// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "server_address.hpp"
#include "store/redis/wire/command.hpp"
#include "store/redis/wire/server_info.hpp"
#include "store/redis/wire/value.hpp"
#include "stream.hpp"

#include <store/delivery.hpp>

#include <tenure/backend/deadline.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::redis
{

using boost::system::error_code;

using store::Delivery;

/** Why a successful reply is not reliable: too few replicas have the write. */
struct Shortfall {
    error_code error;
    /// text for people
    std::string detail;
    /// permanent until a person acts
    bool fatal = false;
    /// the number of replicas is unknown: the connection was lost before they were counted
    bool uncounted = false;
};

struct Outcome : store::Exchange {
    /// answered: the reply. For a transaction: EXEC's array, or an error if nothing ran
    resp::Value reply;
    /// answered: the server refused MULTI, and ran the commands of the transaction separately. `reply` then has the
    /// error for MULTI and a reply to each command
    bool ran_apart = false;
    /// answered with an error: the command of the transaction, from 0, that was refused while it was queued
    std::optional<std::size_t> refused_command = {};
    /// answered: the connection ends with this answer
    bool ends_login = false;
    /// not_sent: nothing of the command was still wanted when it would have been written (see LateCommand)
    bool unwanted = false;
    /// answered: number of the login; requests with equal numbers used the same stream
    std::uint64_t login = 0;
    /// answered: set by ReplicatedChannel; null: nothing is missing, or no acknowledgement was requested
    std::shared_ptr<Shortfall const> shortfall = nullptr;

    /** True if the server answered without an error. */
    [[nodiscard]] bool succeeded() const noexcept { return delivery == Delivery::answered && !reply.is_error(); }
    /** True if the server answered with an error. */
    [[nodiscard]] bool refused() const noexcept { return delivery == Delivery::answered && reply.is_error(); }
};
using OutcomeHandler = OneShot<void(Outcome&&)>;

enum class ConnectionState { idle, connecting, ready, backing_off, failed, closed };

/** One logical connection to one server, which reconnects automatically. Everything runs on the runtime's strand.
 *
 *  `execute` queues commands until the connection is ready (or `not_after`), then pipelines them: the most urgent ones
 *  first, equally urgent ones in order. A request is written at once if no answer is pending; otherwise the requests of
 *  one turn of the loop leave in one write, or in a few if they are large. A slow server gets no more requests than it
 *  soon answers; only renewals never wait for that. `Command::leave_with_next` keeps commands in one write. A written
 *  request is never cancelled. */
class Connection
{
public:
    Connection() = default;
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;
    virtual ~Connection() = default;

    /** Sends a command. The handler is called on the strand, exactly once, never inside this call. */
    virtual void execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler) = 0;

    /** True if a command would be written at once. */
    [[nodiscard]] virtual bool ready() const noexcept = 0;
    [[nodiscard]] virtual ConnectionState state() const noexcept = 0;

    /** Connects without waiting for the first command, and reconnects after a failure once its pause is over. No
     *  effect in other states. */
    virtual void open() = 0;

    /** Drops unwritten requests whose owners have given up (see Deadline): they end as not_sent. */
    virtual void drop_abandoned() = 0;

    /** Hands all unwritten requests over to another connection, because this one is silent. */
    virtual void hand_over(Connection&) {}

    /** The shortest ttl of the held leases (zero: no leases). Pauses between attempts stay short enough for it, and so
     *  does what renewals wait for. */
    virtual void shortest_ttl(std::chrono::milliseconds) {}

    /** Each answer may take so much longer, because the commands themselves do. */
    virtual void expect_delay(std::chrono::milliseconds) {}

    /** Ends a pause between two attempts to connect, because there is news about the server. */
    virtual void hurry() {}

    /** Sets the handler of state changes (connected, lost, failed for good). It is called on the strand. */
    virtual void on_state(std::function<void(ConnectionState)> handler) = 0;

    /** Sets the handler of pushes: RESP3 pushes, or in RESP2 the message arrays after a subscription. */
    virtual void on_push(std::function<void(resp::Value const&)> handler) = 0;

    /** When the oldest unanswered request was written; Instant::max(): all are answered. */
    [[nodiscard]] virtual Instant oldest_unanswered() const noexcept = 0;

    /** Since when an answer is missing while none came, because a server that answers slowly is not silent.
     *  Instant::max(): all are answered. */
    [[nodiscard]] virtual Instant silent_since() const noexcept { return oldest_unanswered(); }

    [[nodiscard]] virtual ServerInfo const& server() const noexcept = 0;

    /** Why the connection is not ready, as text for people; empty if it is ready. */
    [[nodiscard]] virtual std::string last_error() const = 0;

    /** Drops the connection after a malformed reply and opens another, because later replies may not match their
     *  requests either.
     *  @param what  the malformed reply */
    virtual void invalidate(std::string_view what) = 0;

    /** Closes the connection for good: unwritten requests end as not_sent, written ones as unknown. Their handlers are
     *  posted. */
    virtual void close() noexcept = 0;

    /** Closes a connection that was replaced. The store stays open, so its requests end as after a lost connection. */
    virtual void give_up() noexcept = 0;
};

/** Makes an unopened connection to one server. `purpose` distinguishes connections in the log: "", "second",
 * "subscriptions".
 */
using ConnectionFactory = std::function<std::shared_ptr<Connection>(std::string_view purpose)>;

/** Makes the factory for one of several interchangeable servers. */
using ConnectTo = std::function<ConnectionFactory(ServerAddress const&)>;

/** The purpose of connections that only subscribe. */
inline constexpr std::string_view hints_purpose = "subscriptions";
/** The purpose of connections whose claims wait for replicas begins with this word. */
inline constexpr std::string_view replicated_purpose = "replicated";

struct ConnectionOptions {
    /// name of the connection in the log, "redis://host:6379/0"; empty: made from the config
    std::string name = {};
    /// the largest accepted reply or push in bytes on the wire, unless its command expects more
    std::size_t max_reply_bytes = std::size_t{64} * 1024;
    /// accepts only a master: another server is refused like a failed login, and tried again
    bool master_only = false;
    /// logs at debug level only, because the user of the connection logs important events
    bool quiet = false;
    /// requests the server's run id (`INFO`) at login, for commands that carry it
    bool learns_run_id = false;
    /// runs a script at login: a server that refuses scripts is refused before it gets a claim
    bool proves_scripts = false;
    /// runs WAIT at login, because claims will wait for this number of replicas; 0: they will not
    std::uint32_t acknowledged_by = 0;
    /// false: no lease is lost without this connection, so pauses grow while the server or a proxy ends each one early
    bool carries_leases = true;
};

/** Makes an unopened connection. Call `close` on the strand before the last reference goes; a connection that is
 *  dropped without it closes itself. */
[[nodiscard]] std::shared_ptr<Connection> make_connection(
    std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams, ConnectionOptions options = {});

/** Makes connections to the server, with the purpose appended to `options.name` in their names. Connections for claims
 *  read the run id if claims are delayed after a failover. Connections that only subscribe carry no leases. */
[[nodiscard]] ConnectionFactory connections_to(
    std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams, ConnectionOptions options = {});

/** Makes connections to any server that differs from the config only by its address. */
[[nodiscard]] ConnectTo connect_like(
    std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams, ConnectionOptions options = {});

/** As `connect_like`, for replicas of a server and requests that concern no database. */
[[nodiscard]] ConnectTo
connect_to_replicas(std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams);

} // namespace tenure::redis
