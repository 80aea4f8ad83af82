// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet/row.hpp"

#include <iomanip>
#include <ostream>
#include <sstream>
#include <string_view>

namespace tenure::fleet
{

namespace
{

/// names of keys are long
constexpr std::size_t longest_evidence = 500;

std::string seconds(std::chrono::nanoseconds time)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << std::chrono::duration<double>(time).count();
    return text.str();
}

/** The cells of one line. scripts/run_tests.py recognises a line by its first two characters. */
void print_cells(std::ostream& out, std::vector<std::string> const& cells)
{
    /// of each column; the last one is as wide as its text
    constexpr int widths[] = {9, 9, 6, 7, 9, 6, 6, 10, 7, 8, 6, 6, 6, 7, 0};
    out << std::left << "|";
    for (std::size_t i = 0; i < cells.size(); ++i)
        out << " " << std::setw(widths[i]) << cells[i] << " |";
    out << std::endl;
}

} // namespace

std::string two_decimals(double number)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(2) << number;
    return text.str();
}

void print_header(std::ostream& out)
{
    print_cells(
        out, {"store", "case", "asked", "granted", "timed out", "failed", "lost", "unanswered", "refused", "margin s",
              "time s", "CPU s", "lines", "verdict", "figures of the case"});
}

void print_row(std::ostream& out, Row const& row)
{
    print_cells(
        out,
        {row.store, row.name, std::to_string(row.asked), std::to_string(row.granted), std::to_string(row.timed_out),
         std::to_string(row.failed), std::to_string(row.lost), two_decimals(row.unanswered), two_decimals(row.refused),
         row.margin.count() == 0 ? "" : seconds(row.margin), seconds(row.time), seconds(row.cpu),
         std::to_string(row.lines), row.breaches.empty() ? "passed" : "FAILED", row.note});
}

void print_breaches(std::ostream& out, Row const& row)
{
    for (auto const& breach : row.breaches)
        out << "broken: " << breach << "\n";
    if (!row.breaches.empty())
        for (auto const& line : row.evidence)
            out << "    " << std::string_view{line}.substr(0, longest_evidence) << "\n";
    out << std::flush;
}

} // namespace tenure::fleet
