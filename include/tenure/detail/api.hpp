// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/features.hpp>

/// A shared library exports what is marked with TENURE_API and hides everything else, also the inner classes of a
/// marked one that are TENURE_LOCAL. A static library marks nothing: a shared library of the user's that contains it
/// would export tenure.
#if TENURE_IS_SHARED
#define TENURE_API [[gnu::visibility("default")]]
#define TENURE_LOCAL [[gnu::visibility("hidden")]]
#else
#define TENURE_API
#define TENURE_LOCAL
#endif
