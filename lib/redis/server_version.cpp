// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "server_version.hpp"

#include <charconv>
#include <system_error>

namespace tenure::redis
{

bool at_least(ServerInfo const& server, int major, int minor) noexcept
{
    int its_major = 0;
    int its_minor = 0;
    char const* const end = server.version.data() + server.version.size();
    auto const [dot, error] = std::from_chars(server.version.data(), end, its_major);
    if (error == std::errc{} && dot != end && *dot == '.')
        std::from_chars(dot + 1, end, its_minor);
    return its_major > major || (its_major == major && its_minor >= minor);
}

bool has_sharded_channels(ServerInfo const& server) noexcept
{
    return at_least(server, 7, 0);
}

} // namespace tenure::redis
