// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "worlds.hpp"

namespace tenure::simulation
{

/** One world of each kind. */
SmallOutcome run_small_world(std::uint64_t seed)
{
    auto outcome = run_reentrant_world(seed);
    auto const multi = run_multi_world(seed);
    if (outcome.violation.empty())
        outcome.violation = multi.violation;
    outcome.counts.insert(multi.counts.begin(), multi.counts.end());
    outcome.trace = outcome.trace * 0x100000001b3U ^ multi.trace;
    return outcome;
}

std::string_view small_layer() noexcept
{
    return "locks";
}

} // namespace tenure::simulation
