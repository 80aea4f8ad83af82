// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child.hpp"
#include "harness/rounds.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace bench
{

/** One run of a workload of the library, in a form that another build of this program understands, too. */
struct Job {
    /// one that library/run_job.cpp knows
    std::string workload;
    std::string url;
    /// locks, slots or pairs, as the workload has it
    unsigned count = 64;
    double seconds = 1;
    /// of each grant, where the workload holds
    unsigned hold_ms = 0;
    /// default options; false: neither fencing nor notifications
    bool by_default = true;
    /// of a lock: waiters have places
    bool fair = false;
    /// the process whose CPU time is also reported, or that is paused; 0: none
    pid_t server = 0;
    /// how long the server is paused, where the workload pauses it
    unsigned pause_ms = 0;
};

/** The arguments that follow `--workload` on the command line. */
[[nodiscard]] std::vector<std::string> to_arguments(Job const& job);
/** The reverse. @throws std::invalid_argument */
[[nodiscard]] Job parse_job(std::vector<std::string> const& arguments);

/** Has the program, a tenure_bench, do it at that place. All output of the program except its result goes to standard
 * error.
 *  @throws std::runtime_error if it fails or prints no result */
[[nodiscard]] Measurement run_job(std::string const& program, Place place, Job const& job);

/** How the program prints what it measured. */
void print_result(Measurement const& result);

} // namespace bench
