// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace bench
{

/** An etcd of the bench's own: a cluster of one on free ports of the loopback address, with its data in a temporary
 * directory, held to the server's core, gone with this object. It syncs its disk as it does in earnest. */
class EtcdProcess
{
public:
    /** @throws std::runtime_error if it does not come up */
    EtcdProcess();
    EtcdProcess(EtcdProcess const&) = delete;
    EtcdProcess& operator=(EtcdProcess const&) = delete;
    ~EtcdProcess();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string url() const;

    /** Whether this machine has one. */
    [[nodiscard]] static bool installed();

private:
    void stop() noexcept;

    std::filesystem::path directory_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
};

} // namespace bench
