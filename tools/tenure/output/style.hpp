// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tenure::tool
{

/** When output has colours. */
enum class ColorChoice {
    /// on a terminal, unless TERM is unset or `dumb`, or NO_COLOR is set
    automatic,
    always,
    never
};

/** Whether what is written to this descriptor gets colours. */
[[nodiscard]] bool uses_color(int descriptor, ColorChoice choice) noexcept;

/** True if the descriptor is a terminal that understands control sequences. */
[[nodiscard]] bool is_capable_terminal(int descriptor) noexcept;

/** The columns of the terminal; 0 for anything else. */
[[nodiscard]] std::size_t columns_of(int descriptor) noexcept;

enum class Style { plain, heading, good, caution, bad };

/** The text between the control sequences of its style; the bare text without colours. */
[[nodiscard]] std::string styled(std::string_view text, Style style, bool color);

} // namespace tenure::tool
