// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>
#include <vector>

namespace bench
{

/** What a program wrote, standard output and error together, and what it used of the processor. */
struct ProgramResult {
    std::string output;
    double cpu_seconds = 0;
};

/** Runs a program to its end. @throws std::runtime_error with its output if it does not end with 0 */
[[nodiscard]] ProgramResult run_program(std::vector<std::string> const& arguments);

} // namespace bench
