// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

namespace tenure::test
{

/** The frame of a helper program: checks the number of its arguments, and prints the error that ends `run`.
 *  @param usage  name and arguments of the program, with a space before each argument
 *  @returns the exit code of the program */
inline int run_program(std::string const& usage, int count, char** argument, void (*run)(char**))
try {
    if (count != 1 + std::ranges::count(usage, ' '))
        throw std::runtime_error("usage: " + usage);
    run(argument);
    return 0;
} catch (std::exception const& error) {
    std::fprintf(stderr, "%s: %s\n", usage.substr(0, usage.find(' ')).c_str(), error.what());
    return 1;
}

/** Completion handler of a program's coroutine: its error comes out of the event loop, and ends the program. */
inline void rethrow(std::exception_ptr error)
{
    if (error)
        std::rethrow_exception(error);
}

} // namespace tenure::test
