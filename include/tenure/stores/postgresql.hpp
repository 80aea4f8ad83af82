// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/open_store.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/credentials.hpp>
#include <tenure/stores/endpoint.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure
{

/** A PostgreSQL database, 13 or newer, whose table `tenure.lease` holds the keys.
 *
 *  `tenure init URL` creates that table. A transaction of your own in the same database proves a lease by
 *  `SELECT tenure.guard(key, token)`: it commits only while the lease lasts, and no other claim of the key is granted
 *  before that commit (docs/users/guarantees.md). */
struct PostgresqlConfig {
    /// the servers, up to 64 (usually port 5432): the first that is no standby is used. Empty: `socket_directory`
    std::vector<Endpoint> endpoints = {};
    /// the directory of a server's Unix socket, such as `/var/run/postgresql`; used instead of `endpoints`
    std::string socket_directory = {};
    /// part of the name of the Unix socket; 1 to 65535
    std::uint16_t socket_port = 5432;
    /// empty: the user's name
    std::string database = {};
    /// empty: the system's user. A password is not always needed: certificates, `peer` and `~/.pgpass` work as well
    std::string username = {};
    /// never logged
    std::string password = {};
    /// called at each login instead of a fixed user and password, which must then be empty; null: they are fixed
    CredentialsSource credentials = {};
    /// further connection parameters of libpq: sslmode, sslrootcert, sslcert, sslkey, channel_binding, service,
    /// passfile, gssencmode. TLS is theirs: `sslmode` = `verify-full` checks the server
    std::map<std::string, std::string> parameters = {};
    /// the schema of the table and its functions: a letter or '_', then up to 30 of a-z, 0-9 and '_'
    std::string schema = "tenure";
    /// with `create`: roles that may use the functions afterwards
    std::vector<std::string> roles = {};
    /// creates or upgrades the schema at the first connection, which needs the rights of its owner
    bool create = false;
    /// the server itself, for wake-ups, if `endpoints` are those of a pooler; unset: wake-ups use the same connection
    std::optional<Endpoint> listen = std::nullopt;
    /// false: no wake-ups, waiters poll
    bool notifications = true;
    /// shown in `pg_stat_activity`, with '/' and eight random digits behind it; printable ASCII, at most 54 bytes
    std::string application_name = "tenure";
    /// limit of resolve, connect and login with one server; 100 ms to 1 h
    std::chrono::milliseconds connect_timeout{2000};
    /// longest pause between two attempts to connect; 10 ms to 1 h; the pauses grow with jitter from 100 ms
    std::chrono::milliseconds reconnect_backoff{2000};
};

/** Leases in a PostgreSQL database. Returns at once; connects when first needed.
 *  @throws std::invalid_argument naming field, value and rule, or saying that this build of the library is without
 * PostgreSQL */
[[nodiscard]] TENURE_API Store
open_store(boost::asio::any_io_executor executor, PostgresqlConfig config, StoreOptions options);

/** The statement that `PostgresqlConfig::create` runs for this URL: it creates or upgrades the schema, in one
 * transaction, and may be run again.
 *  @throws std::invalid_argument as `open_store`; also for a URL of another kind of store */
[[nodiscard]] TENURE_API std::string postgresql_schema(std::string_view url);

} // namespace tenure
