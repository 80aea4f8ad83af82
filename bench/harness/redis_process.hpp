// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace bench
{

/** A redis-server of the bench's own: on a free port of the loopback address, without persistence, held to the
 * server's core, gone with this object. */
class RedisProcess
{
public:
    /** @throws std::runtime_error if it does not come up */
    explicit RedisProcess(std::string program);
    RedisProcess(RedisProcess const&) = delete;
    RedisProcess& operator=(RedisProcess const&) = delete;
    ~RedisProcess();

    [[nodiscard]] std::string const& program() const noexcept { return program_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] std::string url() const;
    /** As INFO tells it. */
    [[nodiscard]] std::string version() const;
    /** Drops all keys: runs do not meet what earlier ones left. */
    void flush() const;

private:
    [[nodiscard]] bool start();
    void stop() noexcept;

    std::string program_;
    std::filesystem::path directory_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
};

} // namespace bench
