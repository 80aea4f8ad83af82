// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The only file of the tests that is compiled with paths of this build.
#include "harness/paths.hpp"

#include "harness/child_process.hpp"

#include <stdexcept>

namespace tenure::test
{

std::string source_path(std::string const& relative)
{
    return std::string{TENURE_SOURCE_DIR} + "/" + relative;
}

std::string test_program(std::string const& name)
{
    auto path = std::string{TENURE_TEST_PROGRAMS} + "/" + name;
    if (find_program(path).empty())
        throw std::runtime_error(path + " is not built");
    return path;
}

std::string wall_clock_shim()
{
    return TENURE_WALL_CLOCK_SHIM;
}

std::string hanging_names_shim()
{
    return TENURE_HANGING_NAMES_SHIM;
}

std::string tool_path()
{
    return TENURE_TOOL;
}

} // namespace tenure::test
