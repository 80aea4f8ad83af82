// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child_process.hpp"
#include "harness/redis_client.hpp"
#include "harness/redis_server.hpp"
#include "harness/scratch_directory.hpp"
#include "harness/server_process.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenure::test
{

struct SentinelGroupOptions {
    std::size_t replicas = 2;
    std::size_t sentinels = 3;
    /// how long a server may be silent before a sentinel calls it down
    std::chrono::milliseconds down_after{1500};
    /// further lines of each sentinel's configuration, e.g. "requirepass secret"
    std::vector<std::string> sentinel_config = {};
    /// further lines of each server's configuration
    std::vector<std::string> server_config = {};
    /// the password of this test's own connections to sentinels
    std::string sentinel_password = {};
    /// sentinels also listen with TLS, on a second port; the files are PEM
    bool sentinel_tls = false;
    std::string tls_certificate = {};
    std::string tls_key = {};
    std::string tls_ca = {};
};

/** One sentinel (the server program as such) on a free loopback port. It rewrites the configuration in its directory.
 */
class SentinelProcess : public ServerProcess
{
public:
    SentinelProcess(SentinelGroupOptions const& options, std::uint16_t master_port);

    [[nodiscard]] std::uint16_t tls_port() const noexcept { return tls_port_; }
    /** A new connection of the test's own, logged in. */
    [[nodiscard]] RedisClient client() const;
    /** A field of SENTINEL MASTER; empty if it knows no master. */
    [[nodiscard]] std::string master_field(std::string const& name) const;

    /** Starts it again with what it knew. */
    void start();
    [[nodiscard]] std::string log() const { return directory_.text_of("sentinel.log"); }

private:
    [[nodiscard]] bool try_start();
    void write_configuration(SentinelGroupOptions const& options, std::uint16_t master_port) const;

    std::string password_;
    std::uint16_t tls_port_ = 0;
};

/** A master, its replicas, and sentinels that watch over them and know each other: real processes on free loopback
 *  ports, ended with the object. */
class SentinelGroup
{
public:
    /// the name of the master in the sentinels' configuration
    static constexpr auto master_name = "mymaster";

    SentinelGroup();
    explicit SentinelGroup(SentinelGroupOptions options);

    /** `redis+sentinel://127.0.0.1:PORT,127.0.0.1:PORT.../mymaster` */
    [[nodiscard]] std::string url() const;

    [[nodiscard]] std::vector<std::unique_ptr<SentinelProcess>>& sentinels() noexcept { return sentinels_; }
    [[nodiscard]] SentinelProcess& sentinel(std::size_t index) { return *sentinels_.at(index); }
    /** The first of them is the master in the beginning. */
    [[nodiscard]] std::vector<std::unique_ptr<RedisServer>>& servers() noexcept { return servers_; }
    [[nodiscard]] RedisServer& server(std::size_t index) { return *servers_.at(index); }

    /** The server that most living sentinels name as the master now. */
    [[nodiscard]] RedisServer& master();
    /** The one that all living sentinels name, and that calls itself the master; null while there is none, or they
     * name `except`, which is not asked: it may be stopped. */
    [[nodiscard]] RedisServer* agreed_master(RedisServer const* except = nullptr);
    /** The number of the server on that port. @throws std::runtime_error if there is none */
    [[nodiscard]] std::size_t index_of(std::uint16_t port) const;

    /** Waits until every living sentinel names another master than `before`, which is a master; `before` may be dead.
     * @throws std::runtime_error if that takes more than 60 s */
    RedisServer& wait_for_another_master(RedisServer const& before);

    /** Waits until all sentinels see the master with all its replicas, connected, and each other. A failover begins
     * only from there. @throws std::runtime_error with what is missing, after 60 s */
    void wait_until_whole();
    /** Why a failover could not begin now; empty if it could. */
    [[nodiscard]] std::string what_is_missing();

private:
    SentinelGroupOptions options_;
    std::vector<std::unique_ptr<RedisServer>> servers_;
    std::vector<std::unique_ptr<SentinelProcess>> sentinels_;
};

} // namespace tenure::test
