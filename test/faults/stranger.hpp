// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>

namespace tenure::faults
{

/// the value that a stranger writes under a key
inline constexpr char const* stranger = "stranger";
/// by how much the server's wall clock jumps
inline constexpr std::chrono::seconds clock_jump{60};

} // namespace tenure::faults
