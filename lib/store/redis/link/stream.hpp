// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <net/stream.hpp>

#include <tenure/backend/runtime.hpp>
#include <tenure/stores/endpoint.hpp>
#include <tenure/stores/redis.hpp>

#include <functional>
#include <memory>

namespace tenure::redis
{

using net::error_code;
using net::Stream;
using net::StreamError;
using net::StreamEvents;

/** Makes an unconnected stream to the configured server. */
using StreamFactory = std::function<std::shared_ptr<Stream>(std::shared_ptr<Runtime> const&, RedisConfig const&)>;

/** Makes streams over real sockets: a Unix socket if the config has a path, TLS if enabled, else TCP. */
[[nodiscard]] StreamFactory socket_streams();

/** Makes streams to mapped addresses; without a map it returns `streams`. */
[[nodiscard]] StreamFactory with_address_map(StreamFactory streams, AddressMap map);

} // namespace tenure::redis
