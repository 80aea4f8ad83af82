// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fleet/cases.hpp"

#include <string>

namespace tenure::fleet
{

/** The options of the program. */
struct Options {
    /// empty: all
    std::string store;
    std::string name;
    /// the name of the store in the table; empty: as `store`
    std::string label;
    Size size;
    bool help = false;
};

/** @throws std::invalid_argument naming the option and what is allowed */
[[nodiscard]] Options read_options(int count, char const* const* arguments);
[[nodiscard]] std::string usage();

} // namespace tenure::fleet
