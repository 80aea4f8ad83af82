// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "plan.hpp"
#include "world.hpp"

namespace tenure::simulation
{

/** A shorter plan that still breaks the same rule: without faults, noise and workers that do not matter.
 *  @param most_runs  how many worlds may be tried */
[[nodiscard]] Plan shrink(World& world, Plan plan, Rule rule, unsigned most_runs = 400);

} // namespace tenure::simulation
