// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Names of keys that belong to a range.
#include "key_names.hpp"

#include <algorithm>
#include <memory>

namespace tenure::redis
{

bool has_hash_tag(std::string_view key) noexcept
{
    auto const open = key.find('{');
    if (open == std::string_view::npos)
        return false;
    auto const close = key.find('}', open + 1);
    return close != std::string_view::npos && close > open + 1;
}

KeyRangePtr single_key(KeyRangePtr const& range, std::uint32_t index)
{
    if (range->count == 1)
        return range;
    return std::make_shared<KeyRange const>(KeyRange{range->prefix, range->first + index, 1, range->numbered});
}

std::string fence_key(std::string_view key)
{
    std::string const name(key);
    return has_hash_tag(key) ? name + ":fence" : "{" + name + "}:fence";
}

namespace
{

/** Returns `{P}<name>`, or `P<name>` if P has a hash tag. */
std::string beside(KeyRange const& range, std::string_view name)
{
    // built twice for each release, so by plain copies into one allocation
    bool const has_tag = has_hash_tag(range.prefix);
    std::string key(range.prefix.size() + (has_tag ? 0 : 2) + name.size(), '{');
    auto end = std::ranges::copy(range.prefix, key.begin() + (has_tag ? 0 : 1)).out;
    if (!has_tag)
        *end++ = '}';
    std::ranges::copy(name, end);
    return key;
}

} // namespace

std::string stem_of(KeyRange const& range)
{
    return beside(range, "");
}

std::string channel_of(KeyRange const& range)
{
    return beside(range, ":free");
}

std::string line_of(KeyRange const& range)
{
    return beside(range, ":waiting");
}

std::string watched_key_of(KeyRange const& range)
{
    return beside(range, ":watched");
}

std::string redisson::channel_of(KeyRange const& range)
{
    return "redisson_lock__channel:" + stem_of(range);
}

std::string redisson::token_key(KeyRange const& range)
{
    return "redisson_lock_token:" + stem_of(range);
}

} // namespace tenure::redis
