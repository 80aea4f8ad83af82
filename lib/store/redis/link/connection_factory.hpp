// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"
#include "route.hpp"
#include "stream.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/stores/redis_config.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace tenure::redis
{

struct ConnectionOptions {
    /// how log lines name the connection: "redis://host:6379/0"; empty: made from the config
    std::string name = {};
    /// the largest reply or push that is accepted unless its command expects more, in bytes on the wire
    std::size_t max_reply_bytes = std::size_t{64} * 1024;
    /// a server that is not the master is not used: refused like a login, and tried again
    bool master_only = false;
    /// whoever uses the connection says what matters: its own lines are for debugging
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
