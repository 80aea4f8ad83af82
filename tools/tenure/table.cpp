// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "table.hpp"

#include <algorithm>
#include <utility>

namespace tenure::tool
{

Table::Table(std::vector<std::string> headings)
{
    rows_.push_back(std::move(headings));
}

void Table::add(std::vector<std::string> cells)
{
    cells.resize(rows_.front().size());
    rows_.push_back(std::move(cells));
}

std::string Table::text() const
{
    std::vector<std::size_t> widths(rows_.front().size());
    for (auto const& row : rows_)
        for (std::size_t column = 0; column < widths.size(); ++column)
            widths[column] = std::max(widths[column], row[column].size());
    std::string result;
    for (auto const& row : rows_) {
        std::string line;
        for (std::size_t column = 0; column < widths.size(); ++column) {
            line += row[column];
            line.append(widths[column] - row[column].size() + 2, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        result += line + "\n";
    }
    return result;
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
