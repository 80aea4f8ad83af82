// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>

namespace tenure::tool
{

/** A message of the library about a wrong value, with the names of options in place of the C++ fields that they set:
 * `LockConfig::ttl is 1 ms: ...` becomes `--ttl is 1 ms: ...`. */
[[nodiscard]] std::string in_terms_of_options(std::string const& message);

} // namespace tenure::tool
