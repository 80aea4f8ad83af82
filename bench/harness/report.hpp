// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/rounds.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace bench
{

enum class Goal { at_least, at_most };

/** Prints medians as they come, and at the end one line per figure: `name ratio goal ok|short`. */
class Report
{
public:
    /** One column of one series: its median, and between which values the runs lay. */
    void medians(std::string_view figure, Series const& series, std::string_view unit, std::size_t column = 0);

    void note(std::string_view line) const;
    /** A point of a curve, for scripts/bench --pictures. */
    void point(std::string_view curves, std::string_view curve, double x, double y) const;
    /** A ratio that has no goal. */
    void ratio(std::string const& name, double value) const;

    void figure(std::string name, double ratio, Goal goal, double limit);

    /** Prints the figures; true if every one is within its goal. */
    [[nodiscard]] bool finish() const;

private:
    struct Line {
        std::string name;
        double ratio;
        Goal goal;
        double limit;

        [[nodiscard]] bool ok() const { return goal == Goal::at_least ? ratio >= limit : ratio <= limit; }
    };
    static void print(Line const& line);

    std::vector<Line> lines_;
};

} // namespace bench
