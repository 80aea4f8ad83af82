// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "server_version.hpp"

#include <charconv>
#include <system_error>

namespace tenure::redis
{

void ServerVersion::read(std::string_view text)
{
    text_ = text;
    char const* const end = text_.data() + text_.size();
    auto const [dot, error] = std::from_chars(text_.data(), end, major_);
    if (error == std::errc{} && dot != end && *dot == '.')
        std::from_chars(dot + 1, end, minor_);
}

} // namespace tenure::redis
