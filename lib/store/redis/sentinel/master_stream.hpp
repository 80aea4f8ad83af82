// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "master_directory.hpp"
#include "store/redis/link/stream.hpp"

#include <memory>

namespace tenure::redis
{

/** Streams to the master, wherever it is: each first asks the directory for the address, then is a stream of `streams`
 *  to it, and ends when the sentinels name another master. */
[[nodiscard]] StreamFactory master_streams(std::shared_ptr<MasterDirectory> directory, StreamFactory streams);

} // namespace tenure::redis
