// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "output/table.hpp"

#include "output/text_layout.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tenure::tool
{

namespace
{

constexpr std::size_t between_columns = 2;

} // namespace

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

std::vector<std::size_t> Table::widths() const
{
    std::vector<std::size_t> widths(rows_.front().size());
    for (auto const& row : rows_)
        for (std::size_t column = 0; column < widths.size(); ++column)
            widths[column] = std::max(widths[column], row[column].text.size());
    return widths;
}

bool Table::fit(std::size_t width, std::vector<std::size_t> const& columns, std::size_t least)
{
    auto wanted = widths();
    auto total = std::accumulate(wanted.begin(), wanted.end(), between_columns * (wanted.size() - 1));
    while (total > width) {
        auto const widest = std::ranges::max(columns, {}, [&](std::size_t column) { return wanted[column]; });
        if (wanted[widest] <= least)
            return false;
        --wanted[widest];
        --total;
    }
    for (auto& row : rows_)
        for (auto const column : columns)
            row[column].text = shortened(row[column].text, wanted[column]);
    return true;
}

void Table::drop(std::size_t column)
{
    for (auto& row : rows_)
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
}

std::vector<std::string> Table::lines() const
{
    auto const widths = this->widths();
    std::vector<std::string> result;
    for (auto const& row : rows_) {
        std::string line;
        std::size_t gap = 0;
        for (std::size_t column = 0; column < widths.size(); ++column) {
            auto const& [text, style] = row[column];
            if (!text.empty())
                line += std::string(std::exchange(gap, 0), ' ') + styled(text, style, color_);
            gap += widths[column] - text.size() + between_columns;
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
