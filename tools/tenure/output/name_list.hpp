// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tenure::tool
{

/// more names than that are no short answer
inline constexpr std::size_t most_named = 3;

/** The first few of a list in one line, and how many are left out: `a, b, c, ... 13 more`. */
[[nodiscard]] std::string listed(std::vector<std::string> const& items);

} // namespace tenure::tool
