// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "flags_reply.hpp"

namespace tenure::redis
{

std::optional<Flags> read_flags(resp::Value const& reply, std::size_t keys)
{
    Flags flags{reply.as_string()};
    if (!reply.is_string() || flags.own.size() != keys)
        return std::nullopt;
    if (flags.own.find_first_not_of("01") != std::string_view::npos)
        return std::nullopt;
    return flags;
}

} // namespace tenure::redis
