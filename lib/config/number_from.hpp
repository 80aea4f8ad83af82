// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tenure
{

/** Parses a text that is completely a number; nullopt for anything else. */
template <class Number>
[[nodiscard]] std::optional<Number> number_from(std::string_view text, int base = 10)
{
    Number number{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

} // namespace tenure
