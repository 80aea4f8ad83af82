// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Version of the library.
#include <tenure/version.hpp>

namespace tenure
{

std::string_view version() noexcept
{
    return TENURE_VERSION_STRING;
}

} // namespace tenure
