// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// For programs with the engine that ships.
#include "mutants.hpp"

namespace tenure::simulation
{

std::vector<NamedMutant> const& all_mutants()
{
    static std::vector<NamedMutant> const none;
    return none;
}

bool plant(World&, std::string_view name)
{
    return name == "none";
}

} // namespace tenure::simulation
