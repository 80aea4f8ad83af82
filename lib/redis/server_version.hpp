// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"

namespace tenure::redis
{

/** True if the server tells its version, and it is this one or newer. */
[[nodiscard]] bool at_least(ServerInfo const& server, int major, int minor) noexcept;

/** SSUBSCRIBE and SPUBLISH: Redis 7, every Valkey. */
[[nodiscard]] bool has_sharded_channels(ServerInfo const& server) noexcept;

} // namespace tenure::redis
