// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/report.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace bench
{

namespace
{

/** Four significant digits read well at every magnitude that occurs here. */
std::string number(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, value >= 1000 ? "%.0f" : value >= 10 ? "%.1f" : "%.3f", value);
    return text;
}

} // namespace

void Report::medians(std::string_view figure, Series const& series, std::string_view unit, std::size_t column)
{
    auto const values = series.column(column);
    auto const [low, high] = std::minmax_element(values.begin(), values.end());
    auto const name = std::string(figure) + ": " + series.name;
    std::printf(
        "  %-62s %10s %.*s  (%s .. %s, %zu runs)\n", name.c_str(), number(series.median(column)).c_str(),
        static_cast<int>(unit.size()), unit.data(), number(*low).c_str(), number(*high).c_str(), values.size());
    std::fflush(stdout);
}

void Report::note(std::string_view line) const
{
    std::printf("  %.*s\n", static_cast<int>(line.size()), line.data());
    std::fflush(stdout);
}

void Report::point(std::string_view curves, std::string_view curve, double x, double y) const
{
    std::printf(
        "point %.*s %.9g %.4g %.*s\n", static_cast<int>(curves.size()), curves.data(), x, y,
        static_cast<int>(curve.size()), curve.data());
}

void Report::ratio(std::string const& name, double value) const
{
    note(name + ": " + number(value));
}

void Report::figure(std::string name, double ratio, Goal goal, double limit)
{
    lines_.push_back({std::move(name), ratio, goal, limit});
    print(lines_.back());
}

bool Report::finish() const
{
    std::printf("\n");
    for (auto const& line : lines_)
        print(line);
    return std::all_of(lines_.begin(), lines_.end(), [](Line const& line) { return line.ok(); });
}

void Report::print(Line const& line)
{
    std::printf(
        "%s %.3f %s%g %s\n", line.name.c_str(), line.ratio, line.goal == Goal::at_least ? ">=" : "<=", line.limit,
        line.ok() ? "ok" : "short");
    std::fflush(stdout);
}

} // namespace bench
