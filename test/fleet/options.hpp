// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fleet/cases.hpp"

#include <string>

namespace tenure::fleet
{

/** What the program is asked for. */
struct Options {
    /// empty: all
    std::string store;
    std::string name;
    /// what the table calls the store; empty: as `store`
    std::string label;
    Size size;
    bool help = false;
};

/** @throws std::invalid_argument naming the option and what is allowed */
[[nodiscard]] Options read_options(int count, char const* const* arguments);
[[nodiscard]] std::string usage();

} // namespace tenure::fleet
