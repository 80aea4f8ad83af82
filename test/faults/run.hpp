// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "options.hpp"
#include "store_under_attack.hpp"

namespace tenure::faults
{

/** One run; prints what it finds. The program's exit status. */
[[nodiscard]] int run(Options const& options, Scheme const& scheme);

} // namespace tenure::faults
