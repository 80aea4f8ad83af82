// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"
#include "runtime/names.hpp"

#include <store/redis/link/stream.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/stores/redlock.hpp>

#include <memory>
#include <vector>

namespace tenure::redlock
{

/** Makes a backend over a majority of independent servers.
 *
 *  The servers do not know each other: a claim is sent to all of them at once, and holds if a majority grants it while
 *  enough of the ttl remains. The idea is from "Distributed locks with Redis" (the Redlock algorithm); a majority also
 *  agrees on fencing tokens, which the original lacks.
 *
 *  | @param nodes  an odd number, 3 or more; all on `runtime` */
[[nodiscard]] std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, std::vector<Quorum::Voter> nodes);

/** Makes a backend for the servers of a config.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend>
make_backend(std::shared_ptr<Runtime> runtime, RedlockConfig const& config, redis::StreamFactory const& streams);

} // namespace tenure::redlock
