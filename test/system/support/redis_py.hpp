// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>

namespace tenure::test
{

/** A Python that has redis-py: TENURE_PYTHON, the tree's own environment or the system's. Skips the running test if
 * none has. */
[[nodiscard]] std::string require_redis_py();

} // namespace tenure::test
