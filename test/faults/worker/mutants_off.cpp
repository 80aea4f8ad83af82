// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// For the worker with the library that ships.
#include "mutants.hpp"

namespace tenure::faults
{

bool plant(std::string_view name)
{
    return name == "none";
}

} // namespace tenure::faults
