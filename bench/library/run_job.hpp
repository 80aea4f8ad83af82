// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/job.hpp"

namespace bench::library
{

/** Does the job in this process. @throws std::invalid_argument if there is no such workload */
[[nodiscard]] Measurement run_job(Job const& job);

} // namespace bench::library
