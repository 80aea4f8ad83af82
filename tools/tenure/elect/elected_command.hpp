// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/command.hpp"
#include "command_line/settings.hpp"

#include <chrono>
#include <string>

namespace tenure::tool
{

struct ElectSettings {
    StoreSettings store;
    std::string name;
    std::string contact;
    std::chrono::milliseconds ttl{5'000};
    /// 0: the library's default for the ttl
    std::chrono::milliseconds notice{0};
};

/** Campaigns, runs the command while this program leads, and does so again whenever the leadership was lost.
 *  @return the exit code */
[[nodiscard]] int run_elected(ElectSettings const& settings, Invocation const& invocation);

} // namespace tenure::tool
