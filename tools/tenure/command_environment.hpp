// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/lease.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure::tool
{

/** The environment for the command of `tenure run`: this program's own, and what tells the command what it holds. */
[[nodiscard]] std::vector<std::string> environment_for(Lease const& lease, std::optional<std::uint32_t> slot);

} // namespace tenure::tool
