// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"
#include "simulation/random.hpp"

#include <store/redis/scripts/scripts.hpp>
#include <store/redis/wire/value.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tenure::simulation
{

using Words = std::vector<std::string>;

/** A server that runs the scripts of places, whose clock the trial sets. */
class PlaceServer : test::Immovable
{
public:
    virtual ~PlaceServer() = default;

    [[nodiscard]] virtual redis::resp::Value run(redis::Script const& script, Words keys, Words values) = 0;
    virtual redis::resp::Value command(Words words) = 0;
    virtual void set_clock(std::int64_t milliseconds) = 0;
    /** The messages since the last call. */
    [[nodiscard]] virtual Words told() = 0;
};

/** The outcome of a trial. */
struct TrialOutcome {
    /// empty: no rule was broken
    std::string violation;
    /// how often what happened
    std::map<std::string_view, std::uint64_t> counts;
};

/** Random operations on one key. Each answer, each message and the hash itself must be those of a model of the rule
 *  (`backend::Share`). With a seed that is divisible by 3 claims are delayed after a failover. */
[[nodiscard]] TrialOutcome try_places(PlaceServer& server, std::uint64_t seed, unsigned operations);

/** The server's clock is set back at times: never too many believe that they hold, and dead places do not stay. */
[[nodiscard]] TrialOutcome try_clock_set_back(PlaceServer& server, std::uint64_t seed, unsigned operations);

/** A person deletes fields of the hash at times: every script ends, never too many hold, and after two ttls all is
 * well.
 */
[[nodiscard]] TrialOutcome try_deleted_fields(PlaceServer& server, std::uint64_t seed, unsigned operations);

} // namespace tenure::simulation
