// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

/** The word of `known` that is nearest to `word` by inserted, missing, wrong and swapped letters. Empty if none is
 * near. */
[[nodiscard]] std::string suggestion_for(std::string_view word, std::vector<std::string> const& known);

} // namespace tenure::tool
