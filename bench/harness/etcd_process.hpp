// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/server_program.hpp"

#include <cstdint>
#include <string>

namespace bench
{

/** An etcd of the bench's own: a cluster of one on free ports of the loopback address, gone with this object. It syncs
 * its disk as it does in earnest. */
class EtcdProcess
{
public:
    /** @throws std::runtime_error if it does not come up */
    EtcdProcess();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string url() const;

    /** Whether this machine has one. */
    [[nodiscard]] static bool installed();

private:
    ServerProgram program_{ServerProgram::Place::disk};
    std::uint16_t port_;
};

} // namespace bench
