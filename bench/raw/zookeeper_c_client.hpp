// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/rounds.hpp"

#include <cstdint>

namespace bench::raw
{

/** Pairs of `zookeeper_transaction_latency`, asked for through the official C client in a loop that does nothing else:
 * what of the library's latency is that client's.
 *  @returns p50 of a pair in microseconds */
[[nodiscard]] Measurement zookeeper_c_client_latency(std::uint16_t port, unsigned pairs);

} // namespace bench::raw
