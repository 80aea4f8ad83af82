// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bench
{

[[nodiscard]] double median(std::vector<double> values);

/** The result of one of the compared programs in one round: the figure itself, then its secondary values. */
using Measurement = std::vector<double>;

/** One of the programs that are compared. */
struct Candidate {
    std::string name;
    std::function<Measurement()> run;
};

/** The results of one candidate in all rounds. */
struct Series {
    std::string name;
    std::vector<Measurement> runs;

    /** Every run's value of one column. */
    [[nodiscard]] std::vector<double> column(std::size_t index) const;
    [[nodiscard]] double median(std::size_t index = 0) const { return bench::median(column(index)); }
};

/** Runs all candidates once per round, and begins each round with another one: whatever else the machine does then
 * meets all of them alike. */
[[nodiscard]] std::vector<Series> interleave(unsigned rounds, std::vector<Candidate> const& candidates);

/** The series of that name. @throws std::out_of_range */
[[nodiscard]] Series const& find(std::vector<Series> const& all, std::string_view name);

} // namespace bench
