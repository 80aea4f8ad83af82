// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "keyspace.hpp"
#include "reply.hpp"

#include <string>
#include <vector>

namespace tenure::simulation
{

/** Runs HGET, HMGET, HSET, HDEL, HGETALL or HLEN.
 *
 *  @param entry  a hash; null: there is no such key. HSET needs one, which may be empty */
[[nodiscard]] Reply run_on_hash(std::vector<std::string> const& words, Keyspace::Entry* entry);

} // namespace tenure::simulation
