// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/redis_config.hpp>
#include <tenure/store.hpp>

namespace tenure
{

/** One Redis (6 or newer) or Valkey server. Returns at once; connects when first needed.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] Store open_redis(asio::any_io_executor executor, RedisConfig config, StoreOptions options = {});

} // namespace tenure
