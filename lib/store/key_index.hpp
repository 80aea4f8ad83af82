// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <config/number_from.hpp>

#include <tenure/key_range.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace tenure::store
{

/** The index of the key that a server knows by this name; nullopt: not in the range.
 *  @param prefix  of the names of all keys of the range; of a lock, its whole name */
[[nodiscard]] inline std::optional<std::uint32_t>
index_of(KeyRange const& range, std::string_view prefix, std::string_view name)
{
    if (!range.numbered)
        return name == prefix ? std::optional<std::uint32_t>(0) : std::nullopt;
    if (!name.starts_with(prefix))
        return std::nullopt;
    auto const digits = name.substr(prefix.size());
    auto const number = number_from<std::uint32_t>(digits);
    bool const canonical = digits == "0" || !digits.starts_with('0');
    if (!number || !canonical || *number < range.first || *number - range.first >= range.count)
        return std::nullopt;
    return *number - range.first;
}

/** As above, where names are keys. */
[[nodiscard]] inline std::optional<std::uint32_t> index_of(KeyRange const& range, std::string_view key)
{
    return index_of(range, range.prefix, key);
}

} // namespace tenure::store
