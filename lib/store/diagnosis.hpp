// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Findings of `tenure doctor` that all kinds of stores share.
#pragma once

#include <tenure/backend/backend.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace tenure
{

/** "12.3 ms" */
[[nodiscard]] inline std::string milliseconds_and_tenths(std::chrono::nanoseconds duration)
{
    auto const tenths = std::chrono::duration_cast<std::chrono::microseconds>(duration).count() / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

/** An `ok` finding if `well`; otherwise one of the given severity, with advice. */
[[nodiscard]] inline Finding
finding(bool well, Finding::Severity otherwise, std::string subject, std::string observed, std::string advice)
{
    auto const severity = well ? Finding::Severity::ok : otherwise;
    return {severity, std::move(subject), std::move(observed), well ? "" : std::move(advice)};
}

/** Compares the round trips with the ttl of leases.
 *  @param times        at least one
 *  @param per_renewal  round trips per renewal: 1 or 2 */
[[nodiscard]] inline Finding
judge_round_trips(std::vector<std::chrono::nanoseconds> times, std::chrono::milliseconds ttl, int per_renewal = 1)
{
    std::ranges::sort(times);
    auto const worst = times.back();
    auto const enough =
        std::string("raise the ttl to ") + (per_renewal == 1 ? "ten" : "twenty") + " round trips or more";
    Finding finding{
        Finding::Severity::ok, "round trip",
        "median " + milliseconds_and_tenths(times[times.size() / 2]) + ", worst of " + std::to_string(times.size()) +
            " " + milliseconds_and_tenths(worst) + ", ttl " + std::to_string(ttl.count()) + " ms",
        ""};
    if (worst * 3 * per_renewal > ttl) {
        finding.severity = Finding::Severity::error;
        finding.advice = "a lease is used up before it arrives: " + enough + ", or move closer";
    } else if (worst * 10 * per_renewal > ttl) {
        finding.severity = Finding::Severity::warning;
        finding.advice = "a few slow answers in a row lose a lease: " + enough;
    }
    return finding;
}

} // namespace tenure
