// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "harness/redis_client.hpp"
#include "harness/redis_server.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::test
{

struct RedisClusterOptions {
    /// of each master
    std::size_t replicas = 1;
    /// how long a node may be silent before the others hold it for lost
    std::chrono::milliseconds node_timeout{1000};
    /// the options of each node that are not about the cluster: further lines of its configuration, TLS on a second
    /// port
    RedisServerOptions node = {};
};

/** A real cluster on free loopback ports: three masters, which divide the hash slots among them, and their replicas.
 * The masters are nodes 0, 1 and 2 at the start; the replicas of node i are 3 + i, 6 + i ... All end with the object.
 */
class RedisCluster : Immovable
{
public:
    static constexpr std::size_t masters = 3;

    explicit RedisCluster(RedisClusterOptions const& options = {});
    ~RedisCluster() = default;

    [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
    [[nodiscard]] RedisServer& server(std::size_t node) { return *servers_[node]; }
    [[nodiscard]] std::uint16_t port(std::size_t node) const { return servers_[node]->port(); }
    /** `redis+cluster://127.0.0.1:PORT,...` of the first three. */
    [[nodiscard]] std::string url() const;
    /** Three masters that serve all slots, each with all its replicas in step, and all nodes know it: empty. Else what
     * is not so, in words. */
    [[nodiscard]] std::string what_is_missing();
    [[nodiscard]] std::string const& id(std::size_t node) const { return ids_[node]; }

    /** `rediss+cluster://127.0.0.1:PORT,...` of the first three, without options. */
    [[nodiscard]] std::string tls_url() const;

    /** Which node serves the key's slot, as `asked` sees it. */
    [[nodiscard]] std::size_t owner_of(std::string_view key, std::size_t asked = 0);
    [[nodiscard]] std::uint16_t slot_of(std::string_view key);

    /** Sends a command about one key to whichever node serves it, following redirects. The second argument is the key
     * unless `key` names it. */
    Reply call(std::vector<std::string> const& arguments, std::string_view key = {});

    /** A slot begins to move: from now on new keys belong to `to`. */
    void begin_migration(std::uint16_t slot, std::size_t from, std::size_t to);
    /** Moves the keys of the slot that there are. */
    void migrate_keys(std::uint16_t slot, std::size_t from, std::size_t to);
    /** `to` serves the slot from now on, and all are told. */
    void end_migration(std::uint16_t slot, std::size_t from, std::size_t to);

    /** Commands that all nodes have executed so far with this name, in lower case (`cluster|shards`). */
    [[nodiscard]] std::uint64_t calls(std::string const& command);
    /** Redirects that all living nodes have answered so far: MOVED, ASK and the like. */
    [[nodiscard]] std::uint64_t errors(std::string const& word);

private:
    void join();
    [[nodiscard]] std::uint64_t sum(std::string const& section, std::string const& field);

    std::vector<std::unique_ptr<RedisServer>> servers_;
    std::vector<std::string> ids_;
};

} // namespace tenure::test
