// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "figures/figures.hpp"

#include "harness/job.hpp"

#include <functional>
#include <string>
#include <vector>

namespace bench
{

/** The same jobs by this program and by the one of `--before`, in the same rounds. */
class BeforeAndAfter
{
public:
    /** @param prepare  runs before each job: empties the servers, for example */
    BeforeAndAfter(Setting const& setting, std::function<void()> prepare);

    /** Adds a job to the rounds. */
    void add(std::string const& name, Place place, Job const& job);
    /** All rounds of all jobs. */
    void run(unsigned rounds);

    /** Of this program. @throws std::out_of_range */
    [[nodiscard]] Series const& after(std::string const& name) const;
    /** Prints the medians of all series. */
    void print_medians(std::string const& figure, std::string const& unit, std::size_t column = 0) const;
    /** after/before of a column; 0 without `--before`. */
    [[nodiscard]] double ratio(std::string const& name, std::size_t column = 0) const;
    /** Prints it, where there is one. */
    void print_ratio(std::string const& name, std::string const& what, std::size_t column = 0) const;
    [[nodiscard]] std::vector<Series> const& all() const noexcept { return all_; }

private:
    void add_candidate(std::string name, std::string const& program, Place place, Job const& job);

    Setting const& setting_;
    std::function<void()> prepare_;
    std::vector<Candidate> candidates_;
    std::vector<Series> all_;
};

} // namespace bench
