// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string_view>
#include <vector>

namespace tenure::simulation
{

class World;

/** A planted bug of this program's layer. */
struct NamedMutant {
    std::string_view name;
    /// the rules by which it may be found, separated by spaces
    std::string_view rules;
};

/** The planted bugs of the simulated store, and those of the library where the program is linked with the copy that has
 * them (test/mutants). */
[[nodiscard]] std::vector<NamedMutant> all_mutants();

/** Plants the bug, and removes any other; "none" is no bug. False: this program has no bug with this name. */
[[nodiscard]] bool plant(World& world, std::string_view name);

/** Whether `rules` names the rule. */
[[nodiscard]] bool is_one_of(std::string_view rule, std::string_view rules) noexcept;

} // namespace tenure::simulation
