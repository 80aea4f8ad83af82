// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "small_world.hpp"

#include <cstdint>

namespace tenure::simulation
{

/** Two processes with two holders each, which acquire two re-entrant locks, end and cancel at random in virtual time,
 * while keys are removed and overwritten, and the store is unavailable, slow or loses its replies. */
[[nodiscard]] SmallOutcome run_reentrant_world(std::uint64_t seed);

/** Three processes with two workers each, which acquire one to five of five keys together, in any order of names, hold
 * them, give up and release at random in virtual time. Each process has a connection of its own, with faults of its
 * own, and may crash. */
[[nodiscard]] SmallOutcome run_multi_world(std::uint64_t seed);

} // namespace tenure::simulation
