// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "figures/figures.hpp"

#include "harness/handover.hpp"
#include "harness/rounds.hpp"

#include <functional>
#include <memory>
#include <string>

namespace bench
{

/** Each run in a process of its own, and on a core of its own. */
[[nodiscard]] Candidate split(std::string name, std::function<Measurement()> work);

/** Hand-overs of the library on one store, and the floor of them. */
struct ComparedHandovers {
    /// for people
    std::string store;
    std::string figure;
    std::function<void(int)> raw_hold;
    std::function<void(int)> raw_wait;
    std::string url;
    std::function<std::unique_ptr<Observer>()> observe;
    double limit = 1.5;
};

/** Measures both in turns, and reports the figure: at most `limit`. */
void compare_handovers(Setting const& setting, ComparedHandovers const& compared);

} // namespace bench
