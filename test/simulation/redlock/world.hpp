// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>
#include <string>

namespace tenure::simulation
{

/** What became of a world of several servers, whose clients hold keys by majority. */
struct RedlockOutcome {
    /// empty: no rule was broken
    std::string violation;
    std::uint64_t grants = 0;
    std::uint64_t losses = 0;
    std::uint64_t refusals = 0;
    std::uint64_t faults = 0;
    /// the same for the same seed
    std::uint64_t trace = 0;
};

/** Runs sixty seconds of virtual time: three or five servers whose clocks differ by seconds, a few clients that
 * contend for a lock and a small pool, and faults of a minority at a time. After each grant it is checked that nobody
 * else may rely on the key (S1) and that its fencing token is greater than all earlier ones of the key (S10). */
[[nodiscard]] RedlockOutcome run_redlock_world(std::uint64_t seed);

} // namespace tenure::simulation
