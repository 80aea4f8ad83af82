// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/stores/etcd_config.hpp>
#include <tenure/stores/redis_cluster_config.hpp>
#include <tenure/stores/redis_config.hpp>
#include <tenure/stores/redis_sentinel_config.hpp>
#include <tenure/stores/redlock_config.hpp>
#include <tenure/stores/zookeeper.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenure
{

/** A store's address, taken apart: `scheme://[user[:password]@]host[:port][,host[:port]...][/path][?option=value&...]`.
 *
 *  Several hosts are allowed, which general URL parsers refuse. User, password, path and option values are
 * percent-decoded.
 */
struct Url {
    struct Host {
        /// name or address; IPv6 without its brackets
        std::string name;
        /// unset: the scheme's default
        std::optional<std::uint16_t> port;

        friend bool operator==(Host const&, Host const&) = default;
    };

    /// lower case
    std::string scheme;
    std::optional<std::string> user;
    std::optional<std::string> password;
    std::vector<Host> hosts;
    /// with its leading '/', or empty
    std::string path;
    std::map<std::string, std::string, std::less<>> options;
};

/** Takes a URL apart. Any scheme will do.
 *  @throws std::invalid_argument naming field, value and rule; never anything that could be part of a password */
[[nodiscard]] Url parse_url(std::string_view text);

/** Checks that stores of this scheme exist here.
 *  @throws std::invalid_argument that lists the schemes there are */
void check_scheme(Url const& url);

/** The one server that `redis://`, `rediss://` and `redis+unix://` name. Options: connect_timeout, reconnect_backoff
 * (`500ms`, `2s`), with `rediss` tls_ca, tls_cert, tls_key, tls_server_name, tls_verify (`true`, `false`), with
 * `redis+unix` db.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
[[nodiscard]] RedisConfig redis_config_from(Url const& url);

/** The servers that `redlock://` and `redlocks://` (over TLS) name; user, password, database and options are those of
 * `redis://`, and the same for all of them.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
[[nodiscard]] RedlockConfig redlock_config_from(Url const& url);

/** The sentinels and the master that `redis+sentinel://` and `rediss+sentinel://` name. Options: connect_timeout,
 * reconnect_backoff, sentinel_user, sentinel_password, sentinel_tls (`true`, `false`), and with TLS tls_... and
 * sentinel_tls_... as above; TLS of the sentinels is that of the servers where nothing else is said.
 *  @throws std::invalid_argument naming field, value and rule; never a password */
[[nodiscard]] RedisSentinelConfig redis_sentinel_config_from(Url const& url);

/** The cluster that `redis+cluster://` and `rediss+cluster://` name. Options as above, without db.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
[[nodiscard]] RedisClusterConfig redis_cluster_config_from(Url const& url);

/** The members that `etcd://` and `etcds://` (over TLS) name. Options: connect_timeout, reconnect_backoff, connections,
 * and with `etcds` tls_... as above.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
[[nodiscard]] EtcdConfig etcd_config_from(Url const& url);

/** The ensemble that `zookeeper://` names; the path is the chroot. Options: connect_timeout, tick, shortest_ttl,
 * longest_ttl.
 *  @throws std::invalid_argument naming field, value and rule; never the password */
[[nodiscard]] ZookeeperConfig zookeeper_config_from(Url const& url);

/** A duration as people write it: `500ms`, `5s`, `2m`, `1h`; unset for anything else. */
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

} // namespace tenure
