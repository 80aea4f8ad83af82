// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace tenure
{

inline constexpr std::size_t longest_name = 128;
inline constexpr std::string_view rule_for_names =
    " must be printable, without blanks and '/', and at most 128 bytes long";

/** True if the text can name a worker, an evictor or a store. Such a name is a part of values in the store. */
[[nodiscard]] inline bool is_name(std::string_view name)
{
    return name.size() <= longest_name && std::ranges::all_of(name, [](char c) {
               return static_cast<unsigned char>(c) > 0x20 && c != 0x7f && c != '/';
           });
}

} // namespace tenure
