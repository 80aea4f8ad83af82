// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "server_address.hpp"
#include "store/redis/wire/command.hpp"
#include "store/redis/wire/server_info.hpp"
#include "store/redis/wire/value.hpp"
#include "stream.hpp"

#include <tenure/backend/deadline.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis_config.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::redis
{

using boost::system::error_code;

/** How a request ended. What a lease must know of every request is exactly this. */
enum class Delivery {
    /// a reply arrived; it may be an error reply of the server
    answered,
    /// not a byte was written
    not_sent,
    /// it may have been written, and no reply can come
    unknown
};

/** Why a reply is not to be relied on although the server gave it: too few replicas have what was written. */
struct Shortfall {
    error_code error;
    /// in words for a person
    std::string detail;
    /// nothing will change until a person acts
    bool fatal = false;
    /// the number is unknown: the connection was lost before they were counted
    bool uncounted = false;
};

struct Outcome {
    Delivery delivery = Delivery::not_sent;
    /// just before the request was handed to a ready connection (answered and unknown)
    Instant since{};
    /// answered: the reply. To a transaction: EXEC's array, or an error if nothing ran
    resp::Value reply;
    /// not_sent and unknown: why; clear where only `not_after` came before the request's turn on a working connection
    error_code error;
    std::string detail;
    /// not_sent: nothing will change until a person acts (wrong password, wrong database, certificate)
    bool fatal = false;
    /// answered: the server refused MULTI, and ran the commands of the transaction one by one. `reply` then has the
    /// error that answered MULTI, and a reply to each command
    bool ran_apart = false;
    /// answered: over which login of which connection; two that are equal came over one and the same stream
    std::uint64_t login = 0;
    /// answered: set by ReplicatedChannel; null: nothing is missing, or no acknowledgement was wanted
    std::shared_ptr<Shortfall const> shortfall = nullptr;

    /** The server answered, and not with an error. */
    [[nodiscard]] bool succeeded() const noexcept { return delivery == Delivery::answered && !reply.is_error(); }
};
using OutcomeHandler = OneShot<void(Outcome&&)>;

enum class ConnectionState { idle, connecting, ready, backing_off, failed, closed };

/** One logical connection to one server, which reconnects by itself. Everything runs on the runtime's strand.
 *
 *  `execute` queues while the connection is being set up (until `not_after`) and is pipelined in order once it is
 *  ready. A request leaves at once where no answer is awaited; else what is queued in one turn of the loop leaves in
 * one write, or in a few where it is much. What must leave in one write says so (`Command::leave_with_next`). A written
 *  request is never cancelled.
 */
class Connection
{
public:
    Connection() = default;
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;
    virtual ~Connection() = default;

    /** Sends a command. The handler is called on the strand, exactly once, never inside this call. */
    virtual void execute(resp::Command&& command, Deadline not_after, OutcomeHandler handler) = 0;

    /** True if a command given now would be written at once. */
    [[nodiscard]] virtual bool ready() const noexcept = 0;
    [[nodiscard]] virtual ConnectionState state() const noexcept = 0;

    /** Opens the connection without waiting for the first command, and one that failed again once its pause is over.
     * Whatever else it is doing goes on. */
    virtual void open() = 0;

    /** Owners of requests have given up (see Deadline): what they asked for and was not written ends as not_sent. */
    virtual void drop_abandoned() = 0;

    /** The shortest ttl of the leases that are held (zero: none): no pause between two attempts may cost one of them.
     */
    virtual void shortest_ttl(std::chrono::milliseconds) {}

    /** While it waits between two attempts to connect: the next one begins now. There is news of the server. */
    virtual void hurry() {}

    /** Called on the strand on each change of state (connected, lost, failed for good). */
    virtual void on_state(std::function<void(ConnectionState)> handler) = 0;

    /** Pushes: RESP3 pushes, and in RESP2 the message arrays of a connection that has subscribed. */
    virtual void on_push(std::function<void(resp::Value const&)> handler) = 0;

    /** When the oldest written and unanswered request was written; Instant::max() if there is none. */
    [[nodiscard]] virtual Instant oldest_unanswered() const noexcept = 0;

    [[nodiscard]] virtual ServerInfo const& server() const noexcept = 0;

    /** Why the connection is not ready, in words for a person; empty if it is. */
    [[nodiscard]] virtual std::string last_error() const = 0;

    /** Drops the connection that there is, as after a malformed reply, and makes another: `what` the server sent is no
     * answer to its request, so the next replies may be those of others too. */
    virtual void distrust(std::string_view what) = 0;

    /** Ends it for good: what was not written ends as not_sent, what was written as unknown, handlers are posted. */
    virtual void close() noexcept = 0;

    /** The same for one that another connection has replaced: the store is not closed, so its requests end as those of
     * a connection that was lost. */
    virtual void give_up() noexcept = 0;
};

/** Makes an unopened connection to one and the same server; `purpose` tells them apart in the log: "", "second",
 * "hints". */
using ConnectionFactory = std::function<std::shared_ptr<Connection>(std::string_view purpose)>;

/** What connects to one of several servers that are used alike. */
using ConnectTo = std::function<ConnectionFactory(ServerAddress const&)>;

/** The purpose of connections that subscribe, and send nothing else. */
inline constexpr std::string_view hints_purpose = "hints";

struct ConnectionOptions {
    /// how log lines name the connection: "redis://host:6379/0"; empty: made from the config
    std::string name = {};
    /// the largest reply or push that is accepted unless its command expects more, in bytes on the wire
    std::size_t max_reply_bytes = std::size_t{64} * 1024;
    /// a server that is not the master is not used: refused like a login, and tried again
    bool master_only = false;
    /// the user of the connection logs what matters: its own lines are for debugging
    bool quiet = false;
    /// asks for the server's run id (`INFO`) with the login: for commands that are sent with it
    bool learns_run_id = false;
};

/** A connection that has not been opened yet. `close` it on the strand before the last reference goes; a connection
 *  that is dropped without that closes itself. */
[[nodiscard]] std::shared_ptr<Connection> make_connection(
    std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams, ConnectionOptions options = {});

/** Makes connections to the server for each purpose, which stands behind `options.name` in their names.
 *  Those that carry claims learn the run id where claims are delayed after a failover. */
[[nodiscard]] ConnectionFactory connections_to(
    std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams, ConnectionOptions options = {});

/** The same for any server that differs from the config by its address only. */
[[nodiscard]] ConnectTo connect_like(
    std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams, ConnectionOptions options = {});

/** The same for the replicas of a server, and questions that concern no database. */
[[nodiscard]] ConnectTo
connect_to_replicas(std::shared_ptr<Runtime> runtime, RedisConfig config, StreamFactory streams);

} // namespace tenure::redis
