// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "command_line/exit_code.hpp"

#include <tenure/election.hpp>

#include <chrono>
#include <string>

namespace tenure::tool
{

/** The leader, as it was known at one moment. */
struct LeaderNews {
    std::string store;
    std::string election;
    Leader leader;
    std::chrono::system_clock::time_point at;
};

/** One line for a person, which begins with `unknown:` or `stale:` where that is so. */
[[nodiscard]] std::string as_text(LeaderNews const& news);

/** One JSON object on one line. The fencing token is a string, for it outgrows what other languages keep in a number.
 */
[[nodiscard]] std::string as_json(LeaderNews const& news);

/** How `tenure leader` ends with this news. */
[[nodiscard]] ExitCode exit_code_for(Leader::State state) noexcept;

} // namespace tenure::tool
