// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "worlds.hpp"

namespace tenure::simulation
{

namespace
{

/** One world of each kind. */
SmallOutcome run(std::uint64_t seed)
{
    auto outcome = run_reentrant_world(seed);
    auto const multi = run_multi_world(seed);
    if (outcome.violation.empty())
        outcome.violation = multi.violation;
    outcome.counts.insert(multi.counts.begin(), multi.counts.end());
    outcome.trace = outcome.trace * 0x100000001b3U ^ multi.trace;
    return outcome;
}

} // namespace

SmallLayer const small_layer{"locks", run};

} // namespace tenure::simulation
