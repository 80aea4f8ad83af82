// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "flags_reply.hpp"

namespace tenure::redis
{

std::optional<Flags> read_flags(resp::Value const& reply, std::size_t keys)
{
    auto text = reply.as_string();
    Flags flags;
    if (!reply.is_string() || text.size() < keys)
        return std::nullopt;
    flags.own = text.substr(0, keys);
    if (flags.own.find_first_not_of("01") != std::string_view::npos)
        return std::nullopt;
    text.remove_prefix(keys);
    if (!text.empty() && text != "!")
        return std::nullopt;
    flags.publish_refused = !text.empty();
    return flags;
}

} // namespace tenure::redis
