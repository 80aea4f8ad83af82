// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>

namespace tenure::test
{

/** Path of a helper program of the tests (test/.../programs), built beside them. */
[[nodiscard]] std::string test_program(std::string const& name);

} // namespace tenure::test
