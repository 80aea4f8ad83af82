// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <string_view>

/// The version of these headers. A test compares it with the version of the project.
#define TENURE_VERSION_MAJOR 0
#define TENURE_VERSION_MINOR 2
#define TENURE_VERSION_PATCH 0
/// one number, to compare: major * 10000 + minor * 100 + patch
#define TENURE_VERSION (TENURE_VERSION_MAJOR * 10000 + TENURE_VERSION_MINOR * 100 + TENURE_VERSION_PATCH)
#define TENURE_VERSION_STRING "0.2.0"

namespace tenure
{

/** The version of the library that was linked, e.g. "0.2.0"; a shared library may be newer than TENURE_VERSION_STRING.
 */
[[nodiscard]] TENURE_API std::string_view version() noexcept;

} // namespace tenure
