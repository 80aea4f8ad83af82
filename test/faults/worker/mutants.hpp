// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string_view>

namespace tenure::faults
{

/** Plants a bug of lib/engine/mutation.hpp in this process; "none" is no bug. False: there is no such bug, or this
 * program is linked with the library that ships. */
[[nodiscard]] bool plant(std::string_view name);

} // namespace tenure::faults
