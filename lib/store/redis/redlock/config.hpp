// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <config/url.hpp>

#include <tenure/stores/redlock_config.hpp>

namespace tenure
{

/** The config that a `redlock://` or `redlocks://` URL stands for, not checked yet.
 *  @throws std::invalid_argument naming part, value and rule; never the password */
[[nodiscard]] RedlockConfig redlock_config_from(Url const& url);

namespace redlock
{

/** @throws std::invalid_argument naming field, value and rule; never a password */
void check_config(RedlockConfig const& config);

} // namespace redlock

} // namespace tenure
