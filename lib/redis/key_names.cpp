// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "key_names.hpp"

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

FenceAffixes fence_affixes(KeyRange const& range) noexcept
{
    // A number behind the prefix can neither open nor close a tag, so all keys of a range are alike.
    if (has_hash_tag(range.prefix))
        return {"", ":fence"};
    return {"{", "}:fence"};
}

std::string fence_key(std::string_view key)
{
    std::string const name(key);
    return has_hash_tag(key) ? name + ":fence" : "{" + name + "}:fence";
}

std::string channel_of(KeyRange const& range)
{
    constexpr std::string_view tag_ends = "}:free";
    // each release names it: one allocation
    std::string channel;
    channel.reserve(range.prefix.size() + 1 + tag_ends.size());
    bool const has_tag = has_hash_tag(range.prefix);
    if (!has_tag)
        channel += '{';
    channel += range.prefix;
    channel += tag_ends.substr(has_tag ? 1 : 0);
    return channel;
}

} // namespace tenure::redis
