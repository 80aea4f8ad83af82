// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "figures/figures.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench
{

/** The peers that scripts/bench --peers has installed: each runs pairs over these servers, `in_flight` on as many
 * locks, in the calling process, and returns pairs per second and microseconds of CPU per pair. */
[[nodiscard]] std::vector<Candidate>
peers(Setting const& setting, std::vector<std::uint16_t> const& ports, unsigned in_flight = 64);

/** The highest median among the series from `first` on; 0 if there are none. */
[[nodiscard]] double best_of_peers(std::vector<Series> const& all, std::size_t first);

} // namespace bench
