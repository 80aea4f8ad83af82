// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The scripts of places on a server in this process: random operations, and a model of the rule.
#include "lua_server.hpp"

#include "simulation/small_world.hpp"

namespace tenure::simulation
{

namespace
{

SmallOutcome run(std::uint64_t seed)
{
    // the scripts are compiled once
    static LuaServer server;
    SmallOutcome outcome;
    for (auto const& trial : {try_places, try_clock_set_back, try_deleted_fields}) {
        auto const one = trial(server, seed, 400);
        if (outcome.violation.empty())
            outcome.violation = one.violation;
        for (auto const& [what, count] : one.counts) {
            outcome.counts[what] += count;
            outcome.trace = outcome.trace * 0x100000001b3U ^ count;
        }
    }
    return outcome;
}

} // namespace

SmallLayer const small_layer{"places", run};

} // namespace tenure::simulation
