// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tenure::simulation
{

/** The outcome of a world. */
struct SmallOutcome {
    /// empty: no rule was broken
    std::string violation;
    /// how often what happened
    std::map<std::string_view, std::uint64_t> counts;
    /// the same for the same seed
    std::uint64_t trace = 0;
};

/** A layer that needs no parts in common with the others but their random numbers. Each program of small_main.cpp is
 * linked with one. */
[[nodiscard]] SmallOutcome run_small_world(std::uint64_t seed);

/** The file of test/mutants whose bugs this layer hunts. */
[[nodiscard]] std::string_view small_layer() noexcept;

} // namespace tenure::simulation
