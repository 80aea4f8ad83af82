// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "range_keys.hpp"

#include <charconv>
#include <system_error>

namespace tenure::etcd
{

Keys whole(KeyRange const& range)
{
    if (!range.numbered)
        return {range.prefix, {}};
    if (range.count == 1)
        return {range.key(0), {}};
    // ':' follows '9'
    return {range.prefix + '0', range.prefix + ':'};
}

std::optional<std::uint32_t> index_of(KeyRange const& range, std::string_view key)
{
    if (!range.numbered)
        return key == range.prefix ? std::optional<std::uint32_t>(0) : std::nullopt;
    if (!key.starts_with(range.prefix))
        return std::nullopt;
    auto const digits = key.substr(range.prefix.size());
    std::uint32_t number = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    bool const canonical = !digits.empty() && (digits.front() != '0' || digits.size() == 1);
    if (error != std::errc{} || end != digits.data() + digits.size() || !canonical)
        return std::nullopt;
    if (number < range.first || number - range.first >= range.count)
        return std::nullopt;
    return number - range.first;
}

std::size_t reply_bytes(KeyRange const& range, std::size_t keys) noexcept
{
    // base64, four numbers, and what keys of others may be longer
    return 1024 + keys * (320 + (range.prefix.size() + 128) * 4 / 3);
}

} // namespace tenure::etcd
