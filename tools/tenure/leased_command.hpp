// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command.hpp"
#include "settings.hpp"

#include <chrono>
#include <string>

namespace tenure::tool
{

struct RunSettings {
    StoreSettings store;
    TargetSettings target;
    std::chrono::milliseconds ttl{5'000};
    std::chrono::milliseconds wait{30'000};
    /// 0: the library's default for the ttl
    std::chrono::milliseconds notice{0};
    /// of a pool
    std::chrono::milliseconds reuse_after{0};
    std::string note;
};

/** Acquires, runs the command under the lease, releases. @return the exit code */
[[nodiscard]] int run_leased(RunSettings const& settings, Invocation const& invocation);

} // namespace tenure::tool
