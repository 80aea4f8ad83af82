// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "mutants/active.hpp"

#include <span>
#include <string_view>

namespace tenure::mutants
{

/** A bug that is planted in the copy of the library that this program is linked with. */
struct Mutant {
    std::string_view name;
    /// the file that describes it: engine, redis, redlock, locks
    std::string_view layer;
    /// the rules by which it may be found, separated by spaces: "S1 S7"
    std::string_view rules;
};

/** All planted bugs, in the order of their numbers, which begin with 1. Empty where the program is linked with the
 *  library that ships (none.cpp). */
[[nodiscard]] std::span<Mutant const> all();

/** Activates the bug with this name, and no other; "none" is no bug. False: no bug has this name. */
[[nodiscard]] inline bool activate(std::string_view name) noexcept
{
    active_number = 0;
    if (name == "none")
        return true;
    int number = 0;
    for (auto const& mutant : all()) {
        ++number;
        if (mutant.name == name) {
            active_number = number;
            return true;
        }
    }
    return false;
}

} // namespace tenure::mutants
