// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "waiter_name.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tenure::redis
{

namespace
{

constexpr std::size_t name_size = 32;
constexpr std::string_view digits_of_names = "0123456789abcdef";

bool is_waiter_name(std::string_view text) noexcept
{
    return text.size() == name_size && text.find_first_not_of(digits_of_names) == std::string_view::npos;
}

} // namespace

std::string make_waiter_name(Runtime& runtime)
{
    std::string name;
    name.reserve(name_size);
    for (auto const bits : {runtime.random(), runtime.random()})
        for (unsigned shift = 64; shift > 0; shift -= 4)
            name += digits_of_names[(bits >> (shift - 4)) & 0xFU];
    return name;
}

WatchEvent whose_turn(std::string_view message, std::string_view waiter) noexcept
{
    bool ours = false;
    for (;;) {
        auto const name = message.substr(0, message.find(' '));
        if (!is_waiter_name(name))
            return WatchEvent::hint;
        ours = ours || name == waiter;
        if (name.size() == message.size())
            return ours ? WatchEvent::our_turn : WatchEvent::others_turn;
        message.remove_prefix(name.size() + 1);
    }
}

} // namespace tenure::redis
