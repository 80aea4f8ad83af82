// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/table.hpp"

#include "output/text_layout.hpp"

#include <algorithm>
#include <utility>

namespace tenure::tool
{

Table::Table(std::vector<std::string> const& headings, bool color)
    : color_(color)
{
    auto& row = rows_.emplace_back();
    for (auto const& heading : headings)
        row.emplace_back(heading, Style::heading);
}

void Table::add(std::vector<Cell> cells)
{
    cells.resize(rows_.front().size(), Cell(std::string{}));
    rows_.push_back(std::move(cells));
}

std::vector<std::string> Table::lines() const
{
    std::vector<std::size_t> widths(rows_.front().size());
    for (auto const& row : rows_)
        for (std::size_t column = 0; column < widths.size(); ++column)
            widths[column] = std::max(widths[column], row[column].text.size());
    std::vector<std::string> result;
    for (auto const& row : rows_) {
        std::string line;
        std::size_t gap = 0;
        for (std::size_t column = 0; column < widths.size(); ++column) {
            auto const& [text, style] = row[column];
            if (!text.empty())
                line += std::string(std::exchange(gap, 0), ' ') + styled(text, style, color_);
            gap += widths[column] - text.size() + 2;
        }
        result.push_back(std::move(line));
    }
    return result;
}

std::string Table::text() const
{
    return indented(lines(), 0);
}

std::string printable(std::string_view text, std::size_t limit)
{
    auto result = std::string(text.substr(0, limit));
    for (auto& character : result)
        if (character < ' ' || character > '~')
            character = '?';
    if (text.size() > limit)
        result += "...";
    return result;
}

} // namespace tenure::tool
