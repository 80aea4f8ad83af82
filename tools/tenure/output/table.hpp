// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/style.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::tool
{

/** Rows under headings, in columns as wide as they need to be. */
class Table
{
public:
    struct Cell {
        // most are plain text
        Cell(std::string words, Style look = Style::plain) // NOLINT(google-explicit-constructor)
            : text(std::move(words))
            , style(look)
        {
        }
        Cell(char const* words, Style look = Style::plain) // NOLINT(google-explicit-constructor)
            : Cell(std::string(words), look)
        {
        }

        std::string text;
        Style style;
    };

    /** @param color  whether cells show their style */
    explicit Table(std::vector<std::string> const& headings, bool color = false);

    /** @param cells  as many as there are headings */
    void add(std::vector<Cell> cells);

    /** Shortens the texts of some columns in the middle, the widest first, until no line is wider than `width`.
     *  @param columns  their numbers
     *  @param least  how narrow they may become
     *  @return false if that is not enough; then nothing is changed */
    bool fit(std::size_t width, std::vector<std::size_t> const& columns, std::size_t least);

    /** Takes a column out. */
    void drop(std::size_t column);

    /** The headings, then a line for each row. */
    [[nodiscard]] std::vector<std::string> lines() const;

    /** The lines, each with a line break. */
    [[nodiscard]] std::string text() const;

private:
    [[nodiscard]] std::vector<std::size_t> widths() const;

    bool color_;
    /// the headings first
    std::vector<std::vector<Cell>> rows_;
};

/** Text of a store, made safe for a terminal: everything but printable ASCII becomes '?', and text that is too long
 * is cut. */
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 128);

} // namespace tenure::tool
