// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/programs.hpp"

#include "harness/child_process.hpp"

#include <stdexcept>

namespace tenure::test
{

std::string test_program(std::string const& name)
{
    auto path = std::string{TENURE_TEST_PROGRAMS} + "/" + name;
    if (find_program(path).empty())
        throw std::runtime_error(path + " is not built");
    return path;
}

} // namespace tenure::test
