// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "quorum.hpp"

#include <store/redis/link/stream.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/stores/redlock_config.hpp>

#include <memory>
#include <vector>

namespace tenure::redlock
{

/** Leases that a majority of independent servers grants.
 *
 *  The servers know nothing of each other: a claim is made on all of them at a time, and holds if a majority grants it
 *  while enough of the ttl remains. See "Distributed locks with Redis" (the Redlock algorithm) for the idea; fencing
 *  tokens are agreed on by a majority, which the original lacks.
 *
 *  @param nodes  an odd number, 3 or more; all on `runtime` */
[[nodiscard]] std::shared_ptr<Backend> make_backend(std::shared_ptr<Runtime> runtime, std::vector<Quorum::Voter> nodes);

/** The same on the servers of a config.
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] std::shared_ptr<Backend>
make_backend(std::shared_ptr<Runtime> runtime, RedlockConfig const& config, redis::StreamFactory const& streams);

} // namespace tenure::redlock
