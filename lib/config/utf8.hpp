// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <string_view>

namespace tenure
{

/** Length of the UTF-8 character at this place; 0 if the bytes are not UTF-8. */
[[nodiscard]] inline std::size_t utf8_character_at(std::string_view text, std::size_t place) noexcept
{
    auto const at = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    auto const first = at(place);
    auto const second = at(place + 1);
    if ((first >= 0x80 && first < 0xc2) || first > 0xf4)
        return 0;
    // longer than necessary, half of a pair of UTF-16, or beyond the last character
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f))
        return 0;
    std::size_t const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    for (std::size_t further = 1; further < length; ++further)
        if ((at(place + further) & 0xc0U) != 0x80)
            return 0;
    return length;
}

/** True if the text is UTF-8 without NUL. */
[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept
{
    while (!text.empty()) {
        auto const length = utf8_character_at(text, 0);
        if (length == 0 || text.front() == '\0')
            return false;
        text.remove_prefix(length);
    }
    return true;
}

} // namespace tenure
