// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>

namespace tenure::test
{

/** The guard's process, as the program started it; -1 if there is none. */
inline pid_t guard_of(pid_t keeper)
{
    std::ifstream children("/proc/" + std::to_string(keeper) + "/task/" + std::to_string(keeper) + "/children");
    for (pid_t child = 0; children >> child;) {
        std::string name;
        std::ifstream("/proc/" + std::to_string(child) + "/comm") >> name;
        if (name == "tenure-guard")
            return child;
    }
    return -1;
}

} // namespace tenure::test
