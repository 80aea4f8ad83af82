// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "library/workloads.hpp"

#include <string>

namespace bench::library
{

/** One coroutine, one lock; what its release takes is not counted. @returns p50 of an acquisition in microseconds */
[[nodiscard]] Measurement acquire_latency(std::string const& url, unsigned times, Features features);

/** Tries that many times to acquire a lock that another store of this process holds. @returns p50 in microseconds */
[[nodiscard]] Measurement busy_latency(std::string const& url, unsigned times, Features features);

} // namespace bench::library
