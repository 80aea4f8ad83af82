// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>

namespace tenure::test
{

/** A file of the source tree, for example "docs/users/errors.md". */
[[nodiscard]] std::string source_path(std::string const& relative);

/** A helper program of the tests, which is built beside them. @throws std::runtime_error if it is not there */
[[nodiscard]] std::string test_program(std::string const& name);

/** The library that moves the wall clock of a server that it is loaded into (programs/wall_clock_shim.cpp). */
[[nodiscard]] std::string wall_clock_shim();

/** The library that makes the lookup of some names hang in a program that it is loaded into
 * (programs/hanging_names_shim.cpp). */
[[nodiscard]] std::string hanging_names_shim();

/** The command-line program; empty if this build is without it. */
[[nodiscard]] std::string tool_path();

} // namespace tenure::test
