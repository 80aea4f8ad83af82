// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/rounds.hpp"

#include <cstdint>
#include <vector>

namespace bench::raw
{

/** How a key is claimed: by SET NX PX, or by a script that does it and gives a fencing token. */
enum class Claim { plain, with_token };

/** A claim on all servers, done with the answers of a majority; then, not counted, compare-and-delete on all, done
 * likewise. @returns p50 of the first in microseconds */
[[nodiscard]] Measurement redlock_acquire(std::vector<std::uint16_t> const& ports, unsigned times, Claim claim);

/** The same with plain claims, `keys` of these pairs in flight: what is ready leaves in one write to each server.
 *  @returns pairs per second, microseconds of client CPU per pair */
[[nodiscard]] Measurement redlock_pairs(std::vector<std::uint16_t> const& ports, unsigned keys, double seconds);

} // namespace bench::raw
