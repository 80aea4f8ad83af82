// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>

namespace tenure::test
{

/** True once the process has a handler for this signal. */
[[nodiscard]] inline bool catches(pid_t process, int signal)
{
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("SigCgt:"))
            return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
    return false;
}

} // namespace tenure::test
