// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "run/ending.hpp"

#include <csignal>

namespace tenure::tool
{

int carry_out(Ending const& ending) noexcept
{
    if (ending.interruption == Interruption::none)
        return ending.code;
    std::signal(SIGINT, SIG_DFL);
    if (ending.interruption == Interruption::of_command)
        ::kill(0, SIGINT);
    // in this very thread, which must not go on to the exit code
    ::raise(SIGINT);
    return ending.code;
}

} // namespace tenure::tool
