// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "system/support/redis_py.hpp"

#include "harness/child_process.hpp"
#include "harness/paths.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdlib>

namespace tenure::test
{

std::string require_redis_py()
{
    char const* const chosen = std::getenv("TENURE_PYTHON");
    for (std::string const& candidate :
         {std::string{chosen != nullptr ? chosen : ""}, source_path(".venv/bin/python3"),
          std::string{"/usr/bin/python3"}, std::string{"python3"}}) {
        if (candidate.empty() || find_program(candidate).empty())
            continue;
        ChildProcess import{Command{{candidate, "-c", "import redis"}, {}, "/dev/null"}};
        if (import.wait_for(std::chrono::seconds{30}).value_or(ExitStatus{}).code == 0)
            return candidate;
    }
    SKIP("no Python with redis-py: TENURE_PYTHON, .venv or the system's (scripts/setup --test installs it)");
    return {};
}

} // namespace tenure::test
