// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/redlock_config.hpp>

namespace tenure::redlock
{

/** @throws std::invalid_argument naming field, value and rule; never a password */
void check_config(RedlockConfig const& config);

} // namespace tenure::redlock
