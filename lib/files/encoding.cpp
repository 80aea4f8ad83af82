// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "encoding.hpp"

#include <cstring>

namespace tenure
{

namespace
{

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::size_t longest_name = 180;

} // namespace

std::uint64_t checksum(void const* data, std::size_t bytes) noexcept
{
    std::uint64_t hash = 14695981039346656037U;
    for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, static_cast<char const*>(data) + at, 8);
        hash = (hash ^ word) * 1099511628211U;
        hash ^= hash >> 32U;
    }
    return hash;
}

std::string hexadecimal(std::span<std::byte const> bytes)
{
    std::string text;
    for (auto const byte : bytes)
        text += {digits[static_cast<unsigned>(byte) >> 4U], digits[static_cast<unsigned>(byte) & 15U]};
    return text;
}

std::string file_name_of(std::string_view text)
{
    std::string name = "=";
    for (char const& c : text) {
        bool const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view("-_.:").find(c) != std::string_view::npos;
        if (plain)
            name += c;
        else
            name += "%" + hexadecimal(std::as_bytes(std::span(&c, 1)));
    }
    if (name.size() <= longest_name)
        return name;
    std::string padded(text);
    padded.resize((text.size() + 7) / 8 * 8);
    auto const sum = checksum(padded.data(), padded.size());
    return name.substr(0, longest_name) + "~" + hexadecimal(std::as_bytes(std::span(&sum, 1)));
}

} // namespace tenure
