// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/features.hpp>

/// TENURE_API marks the exported symbols of a shared library; all others are hidden, also inner classes marked
/// TENURE_LOCAL. A static library marks nothing: otherwise a user's shared library that contains it would export
/// tenure.
#if TENURE_IS_SHARED
#define TENURE_API [[gnu::visibility("default")]]
#define TENURE_LOCAL [[gnu::visibility("hidden")]]
#else
#define TENURE_API
#define TENURE_LOCAL
#endif
