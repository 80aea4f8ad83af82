// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

/** A text broken into lines between its words. A word that is longer than the width has a line of its own. At least one
 * line. */
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/** Lines as one text, each behind the indent and with a line break. */
[[nodiscard]] std::string indented(std::vector<std::string> const& lines, std::size_t indent);

} // namespace tenure::tool
