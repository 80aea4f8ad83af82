// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>

namespace bench
{

/** A port of 127.0.0.1 that was free just now. @throws std::system_error */
[[nodiscard]] std::uint16_t free_port();

} // namespace bench
