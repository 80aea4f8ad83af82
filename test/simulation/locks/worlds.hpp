// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "small_world.hpp"

#include <cstdint>

namespace tenure::simulation
{

/** Two processes with two holders each, which acquire two re-entrant locks and both sides of a read-write lock, end and
 * cancel at random in virtual time, also while their threads overtake each other. Meanwhile keys are removed and
 * overwritten, and each process's connection to the store is unavailable, slow or loses messages. */
[[nodiscard]] SmallOutcome run_reentrant_world(std::uint64_t seed);

/** Three processes with two workers each, which acquire one to five of five keys together, in any order of names, hold
 * them, give up and release at random in virtual time. Each process has a connection of its own, with faults of its
 * own, and may crash. */
[[nodiscard]] SmallOutcome run_multi_world(std::uint64_t seed);

} // namespace tenure::simulation
