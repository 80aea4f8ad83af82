// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/server_program.hpp"

#include <cstdint>
#include <string>

namespace bench
{

/** A ZooKeeper of the bench's own: one server on a free port of the loopback address, gone with this object. It syncs
 * its log with each batch of writes, as it does in earnest, but keeps it in memory: what is measured is not a disk. */
class ZookeeperProcess
{
public:
    /** @throws std::runtime_error if it does not come up */
    ZookeeperProcess();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string url() const;

    /** Whether this machine has one, as Debian and Ubuntu package it, and a Java to run it. */
    [[nodiscard]] static bool installed();

private:
    ServerProgram program_{ServerProgram::Place::memory};
    std::uint16_t port_;
};

} // namespace bench
