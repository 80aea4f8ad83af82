// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Names of enumerators, as the compiler knows them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tenure
{

/// the values of an enumeration are below this number
inline constexpr std::size_t most_enumerators = 32;

/** The name of an enumerator; "unknown" for a value without an enumerator. */
template <auto value>
[[nodiscard]] constexpr std::string_view enumerator_name() noexcept
{
    // "... [value = tenure::Order::checked]"; without an enumerator "... [value = (tenure::Order)7]"
    std::string_view const function = __PRETTY_FUNCTION__;
    constexpr std::string_view before = "value = ";
    auto const begin = function.find(before) + before.size();
    auto const spelled = function.substr(begin, function.find_first_of(";]", begin) - begin);
    return spelled.starts_with('(') ? "unknown" : spelled.substr(spelled.rfind(':') + 1);
}

/** As above, for a value that is known when the program runs. */
template <class Enum>
[[nodiscard]] std::string_view enumerator_name(Enum value) noexcept
{
    static constexpr auto names = []<std::size_t... number>(std::index_sequence<number...>) {
        return std::array{enumerator_name<static_cast<Enum>(number)>()...};
    }(std::make_index_sequence<most_enumerators>());
    static_assert(names.back() == "unknown", "most_enumerators is too small");
    auto const number = static_cast<std::size_t>(value);
    return number < names.size() ? names[number] : "unknown";
}

} // namespace tenure
