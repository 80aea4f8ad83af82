// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <string_view>

namespace tenure
{

/** True if the text is UTF-8 without NUL. */
[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept
{
    auto const at = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    for (std::size_t i = 0; i < text.size();) {
        auto const first = at(i++);
        if (first == 0 || (first >= 0x80 && first < 0xc2) || first > 0xf4)
            return false;
        auto const second = at(i);
        // longer than necessary, half of a pair of UTF-16, or beyond the last character
        if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
            (first == 0xf4 && second > 0x8f))
            return false;
        for (int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3; more > 0; --more)
            if ((at(i++) & 0xc0U) != 0x80)
                return false;
    }
    return true;
}

} // namespace tenure
