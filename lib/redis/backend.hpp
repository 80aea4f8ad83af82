// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "route.hpp"
#include "stream.hpp"

#include <tenure/backend.hpp>
#include <tenure/redis_config.hpp>
#include <tenure/runtime.hpp>

#include <functional>
#include <memory>
#include <string>

namespace tenure::redis
{

/** Leases on one Redis or Valkey server. Nothing is connected before the first request.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend>
make_backend(std::shared_ptr<Runtime> runtime, RedisConfig const& config, StreamFactory streams);

/** The same over given connections.
 *  @param name  of the server, without secrets
 *  @param username  whose permissions `examine` looks at; empty: the default user
 *  @param closed  called once when all connections of the backend are closed; may be empty, must not throw */
[[nodiscard]] std::shared_ptr<Backend> make_backend(
    std::shared_ptr<Runtime> runtime, ConnectionFactory connect, std::string name, std::string username = {},
    std::function<void()> closed = {});

} // namespace tenure::redis
