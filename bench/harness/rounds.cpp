// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "harness/rounds.hpp"

#include <algorithm>
#include <stdexcept>

namespace bench
{

double median(std::vector<double> values)
{
    if (values.empty())
        throw std::out_of_range("the median of nothing");
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1)
        return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

std::vector<double> Series::column(std::size_t index) const
{
    std::vector<double> values;
    for (auto const& run : runs)
        values.push_back(run.at(index));
    return values;
}

std::vector<Series> interleave(unsigned rounds, std::vector<Candidate> const& candidates)
{
    std::vector<Series> all;
    for (auto const& candidate : candidates)
        all.push_back({candidate.name, {}});
    for (unsigned round = 0; round < rounds; ++round)
        for (std::size_t step = 0; step < candidates.size(); ++step) {
            auto const which = (round + step) % candidates.size();
            all[which].runs.push_back(candidates[which].run());
        }
    return all;
}

Series const& find(std::vector<Series> const& all, std::string_view name)
{
    for (auto const& series : all)
        if (series.name == name)
            return series;
    throw std::out_of_range("no series " + std::string(name));
}

} // namespace bench
