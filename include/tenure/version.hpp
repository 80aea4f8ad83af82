// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string_view>

/// major * 10000 + minor * 100 + patch
#define TENURE_VERSION 100

namespace tenure
{

/** The version of the library that was linked, e.g. "0.1.0". */
[[nodiscard]] std::string_view version() noexcept;

} // namespace tenure
