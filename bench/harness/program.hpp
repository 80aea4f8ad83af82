// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>
#include <vector>

namespace bench
{

/** The output of a program, standard output and error together, and the processor time that it used. */
struct ProgramResult {
    std::string output;
    double cpu_seconds = 0;
};

/** Runs a program to its end. @throws std::runtime_error with its output if it does not end with 0 */
[[nodiscard]] ProgramResult run_program(std::vector<std::string> const& arguments);

} // namespace bench
