// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "options.hpp"
#include "store_under_attack.hpp"

#include <stdexcept>

namespace tenure::faults
{

/** The run is not for this store, which says why. */
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/** One run; prints what it finds. The program's exit status. @throws Unsupported */
[[nodiscard]] int run(Options const& options, Scheme const& scheme);

} // namespace tenure::faults
