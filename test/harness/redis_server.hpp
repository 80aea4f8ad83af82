// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child_process.hpp"
#include "harness/redis_client.hpp"
#include "harness/scratch_directory.hpp"
#include "harness/server_process.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenure::test
{

struct RedisServerOptions {
    /// further lines of its configuration file, e.g. "maxmemory 2mb" or "user worker on >secret ~* &* +@all"
    std::vector<std::string> config = {};
    /// added to the server's environment
    std::vector<std::pair<std::string, std::string>> environment = {};
    /// also listen on a Unix socket
    bool unix_socket = false;
    /// listen with TLS on a second port; needs the three files below (PEM)
    bool tls = false;
    std::string tls_certificate = {};
    std::string tls_key = {};
    std::string tls_ca = {};
};

/** A real redis-server (or what TENURE_REDIS_SERVER names) on a free loopback port, with a directory of its own and
 * without persistence unless `config` says otherwise. Both end with the object. */
class RedisServer : public ServerProcess
{
public:
    explicit RedisServer(RedisServerOptions options = {});

    [[nodiscard]] std::uint16_t tls_port() const noexcept { return tls_port_; }
    [[nodiscard]] std::string const& directory() const noexcept { return directory_.path(); }
    [[nodiscard]] std::string socket_path() const { return directory_.file("redis.sock"); }
    /** `redis://127.0.0.1:PORT` */
    [[nodiscard]] std::string url() const;

    /** A new connection of the test's own. */
    [[nodiscard]] RedisClient client() const { return RedisClient{port_}; }

    /** Starts it again after `kill`, on the same port and directory. */
    void start();
    /** Starts it again with one more line of configuration, and returns while it loads its data. */
    void start_loading(std::string const& line);
    /** SIGKILL and start; what was persisted is loaded. */
    void restart();
    /** Its log so far. */
    [[nodiscard]] std::string log() const { return directory_.text_of("redis.log"); }

private:
    /** Runs it until its log says `ready`; false if it ends before. */
    [[nodiscard]] bool try_start(char const* ready);
    void write_configuration() const;
    [[nodiscard]] std::string configuration_path() const { return directory_.file("redis.conf"); }

    RedisServerOptions options_;
    std::uint16_t tls_port_ = 0;
};

/** The server program: TENURE_REDIS_SERVER, else redis-server from PATH; empty if there is none. */
[[nodiscard]] std::string redis_server_program();

/** Skips the running test when this machine has no redis-server. */
void require_redis();

/** A port of 127.0.0.1 that was free just now. */
[[nodiscard]] std::uint16_t free_port();

/** Fixture: a Redis server of the test's own. Skips the test where Redis is not installed. */
struct RedisTest {
    RedisServer server{(require_redis(), RedisServerOptions{})};
};

} // namespace tenure::test
