// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>
#include <tenure/open_store.hpp>
#include <tenure/store.hpp>
#include <tenure/stores/endpoint.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure
{

/** A ZooKeeper server or ensemble (3.5 and newer).
 *
 *  The ttl of a lease is the timeout of a session. Leases of one ttl share a session until it is full
 *  (`jute_maxbuffer`), and each further ttl costs another session. A server limits the timeouts that it grants, by
 * default to 2 to 20 of its ticks. A ttl outside the limits of this config is refused before any request; if the server
 * grants another timeout, that one counts.
 */
struct ZookeeperConfig {
    /// 1 to 64 servers of one ensemble (usually port 2181), preferably all of them; the order does not matter
    std::vector<Endpoint> servers = {};
    /// the parent node of all keys, such as `/app/locks`, at most 512 bytes; created if it is missing. Empty: the root
    std::string chroot = {};
    /// of the scheme `digest`; no ':'. Empty: no authentication, and nodes that every client may change
    std::string username = {};
    /// required with a username, and only then
    std::string password = {};
    /// the servers' `tickTime`; milliseconds, 10 to 60,000. Must not be shorter than theirs: validity depends on it
    std::chrono::milliseconds tick{2000};
    /// the servers' `minSessionTimeout`; 100 ms to 24 h, and at least one and a half ticks; unset: two ticks, as the
    /// servers have it
    std::optional<std::chrono::milliseconds> shortest_ttl = std::nullopt;
    /// the servers' `maxSessionTimeout`; `shortest_ttl` to 24 h; unset: twenty ticks, as the servers have it
    std::optional<std::chrono::milliseconds> longest_ttl = std::nullopt;
    /// the servers' `jute.maxbuffer`; bytes, 64 KiB to 1 GiB. A session takes nodes whose paths fill half of it, and
    /// further leases open another session. Must not be larger than theirs: a server whose log has a longer
    /// transaction does not start again
    std::uint32_t jute_maxbuffer = 1'048'575;
    /// limit of connect and login with one server; milliseconds, 100 to one hour
    std::chrono::milliseconds connect_timeout{2000};
};

/** Leases on ZooKeeper. Returns at once; connects when first needed.
 *  @throws std::invalid_argument naming field, value and rule, or saying that this build of the library is without
 * ZooKeeper */
[[nodiscard]] TENURE_API Store
open_store(boost::asio::any_io_executor executor, ZookeeperConfig config, StoreOptions options);

} // namespace tenure
