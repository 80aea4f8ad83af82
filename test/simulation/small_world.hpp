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

/** A layer that needs no parts in common with the others but their random numbers. */
struct SmallLayer {
    /// the file of test/mutants whose bugs it hunts
    std::string_view name;
    SmallOutcome (*run)(std::uint64_t seed);
};
/// each program of small_main.cpp is linked with one
extern SmallLayer const small_layer;

} // namespace tenure::simulation
