// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::tool
{

/** The texts with the separator between them. */
[[nodiscard]] std::string joined(std::vector<std::string> const& texts, std::string_view separator);

/** The first few of a list in one line, and how many are left out: `a, b, c, ... 13 more`. */
[[nodiscard]] std::string listed(std::vector<std::string> const& items);

/** The parts of a text between its empty lines. */
[[nodiscard]] std::vector<std::string> paragraphs_of(std::string_view text);

/** A text broken into lines between its words. A word that is longer than the width has a line of its own. At least one
 * line. */
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/** Lines as one text, each behind the indent and with a line break. */
[[nodiscard]] std::string indented(std::vector<std::string> const& lines, std::size_t indent);

/** How many columns of a terminal a line takes: control sequences of colours take none. */
[[nodiscard]] std::size_t visible_width(std::string_view line);

/** As much of a line as the width holds, with its colours ended. */
[[nodiscard]] std::string cropped(std::string const& line, std::size_t width);

/** The begin and the end of a text with dots between them, if it is longer than the width: names of workers often
 * differ at both ends. */
[[nodiscard]] std::string shortened(std::string const& text, std::size_t width);

/** As many lines as there are rows; if there are more, the last row says how many. */
[[nodiscard]] std::vector<std::string> fitted(std::vector<std::string> lines, std::size_t rows);

/** Two blocks of lines side by side. */
[[nodiscard]] std::vector<std::string>
beside(std::vector<std::string> const& left, std::vector<std::string> const& right, std::size_t gap);

/** The columns of the widest line. */
[[nodiscard]] std::size_t widest(std::vector<std::string> const& lines);

} // namespace tenure::tool
