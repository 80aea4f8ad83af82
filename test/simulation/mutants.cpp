// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "mutants.hpp"

#include "layer.hpp"
#include "world.hpp"

#include "mutants/mutants.hpp"

namespace tenure::simulation
{

std::vector<NamedMutant> all_mutants()
{
    std::vector<NamedMutant> result;
    for (auto const& mutant : mutants::all())
        if (mutant.layer == library_mutants())
            result.push_back({mutant.name, mutant.rules});
    for (auto const& mutant : store_mutants())
        result.push_back({mutant.name, mutant.rules});
    return result;
}

bool plant(World& world, std::string_view name)
{
    world.mutants = {};
    for (auto const& mutant : store_mutants())
        if (mutant.name == name) {
            world.mutants.*mutant.flag = true;
            return mutants::activate("none");
        }
    for (auto const& mutant : all_mutants())
        if (mutant.name == name)
            return mutants::activate(name);
    // this program never comes to where those of other layers are planted
    return mutants::activate("none") && name == "none";
}

bool is_one_of(std::string_view rule, std::string_view rules) noexcept
{
    while (!rules.empty()) {
        auto const end = rules.find(' ');
        if (rules.substr(0, end) == rule)
            return true;
        rules.remove_prefix(end == std::string_view::npos ? rules.size() : end + 1);
    }
    return false;
}

} // namespace tenure::simulation
