// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "byte_network.hpp"

#include <store/redis/link/stream.hpp>

#include <memory>

namespace tenure::simulation
{

class Process;

/** A byte stream of a simulated process to the simulated server: takes the place of a socket below the connection that
 *  ships. */
[[nodiscard]] std::shared_ptr<redis::Stream> make_stream(ByteNetwork& network, Process& process);

} // namespace tenure::simulation
