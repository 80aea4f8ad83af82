// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Text form of owners: a readable prefix and random digits.
#include "owner_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <tuple>

namespace tenure
{

namespace
{

constexpr std::size_t longest_note = 128;
constexpr std::string_view hexadecimal = "0123456789abcdef";
constexpr std::size_t random_digits = 2 * std::tuple_size_v<OwnerDigits>;
/// digits of a time in seconds; more would exceed the clock's type, or the year 30,000
constexpr std::size_t most_digits_of_a_second = 12;

bool consists_of(std::string_view text, std::string_view digits) noexcept
{
    return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

/** Cuts off and returns the text after the last slash; without a slash it returns an empty text and cuts nothing. */
std::string_view cut_last(std::string_view& text) noexcept
{
    auto const slash = text.rfind('/');
    if (slash == std::string_view::npos)
        return {};
    auto const last = text.substr(slash + 1);
    text = text.substr(0, slash);
    return last;
}

std::optional<std::chrono::sys_seconds> read_second(std::string_view text) noexcept
{
    std::int64_t second = 0;
    if (text.size() > most_digits_of_a_second || !consists_of(text, "0123456789") ||
        std::from_chars(text.data(), text.data() + text.size(), second).ec != std::errc{})
        return std::nullopt;
    return std::chrono::sys_seconds(std::chrono::seconds(second));
}

} // namespace

void check_note(std::string const& field, std::string_view note)
{
    if (note.size() > longest_note)
        throw std::invalid_argument(
            field + " has " + std::to_string(note.size()) + " bytes: at most " + std::to_string(longest_note));
    auto const bad = std::ranges::find_if(note, [](char c) { return c < ' ' || c > '~'; });
    if (bad != note.end())
        throw std::invalid_argument(
            field + " has the byte " + std::to_string(static_cast<unsigned char>(*bad)) + " at position " +
            std::to_string(bad - note.begin()) + ": only printable ASCII, 32 to 126");
}

std::string owner_prefix(std::string_view worker, std::string_view note)
{
    std::string prefix(worker);
    prefix.push_back('/');
    if (!note.empty())
        prefix.append(note).push_back('/');
    return prefix;
}

std::string make_owner(std::string_view prefix, std::chrono::sys_seconds claimed_at, OwnerDigits const& random)
{
    // clamps clocks before 1970 or far in the future
    auto const second = std::clamp<std::int64_t>(claimed_at.time_since_epoch().count(), 0, 999'999'999'999);
    std::array<char, most_digits_of_a_second + 1 + random_digits> rest{};
    auto* end = std::to_chars(rest.data(), rest.data() + rest.size(), second).ptr;
    *end++ = '/';
    for (auto const byte : random) {
        *end++ = hexadecimal[std::to_integer<unsigned>(byte) >> 4U];
        *end++ = hexadecimal[std::to_integer<unsigned>(byte) & 0xfU];
    }
    std::string owner;
    owner.reserve(prefix.size() + rest.size());
    owner.append(prefix).append(rest.data(), static_cast<std::size_t>(end - rest.data()));
    return owner;
}

std::optional<OwnerText> read_owner(std::string_view owner)
{
    auto const random = cut_last(owner);
    if (random.size() != random_digits || !consists_of(random, hexadecimal))
        return std::nullopt;
    OwnerText text;
    auto rest = owner;
    text.claimed_at = read_second(cut_last(rest));
    if (text.claimed_at)
        owner = rest;
    auto const slash = owner.find('/');
    text.worker = owner.substr(0, slash);
    if (text.worker.empty() || (slash != std::string_view::npos && !text.claimed_at))
        return std::nullopt;
    if (slash != std::string_view::npos)
        text.note = owner.substr(slash + 1);
    return text;
}

} // namespace tenure
