// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "world.hpp"

#include <string_view>
#include <vector>

namespace tenure::simulation
{

/** A planted bug. */
struct NamedMutant {
    std::string_view name;
    /// the rules that it may break first
    std::vector<Rule> breaks;
};

[[nodiscard]] std::vector<NamedMutant> const& all_mutants();

/** Plants the bug, and removes any other; "none" is no bug. False: there is no such mutant, or this program is linked
 *  with the engine that ships, which has none. */
[[nodiscard]] bool plant(World& world, std::string_view name);

} // namespace tenure::simulation
