// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "base64.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tenure::etcd
{

namespace
{

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

} // namespace

void add_base64(std::string& text, std::string_view bytes)
{
    auto const begin = text.size();
    text.resize(begin + (bytes.size() + 2) / 3 * 4);
    auto* out = text.data() + begin;
    for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(3, bytes.size()))) {
        std::uint32_t bits = 0;
        for (std::size_t k = 0; k < 3; ++k)
            bits = bits << 8U | (k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            *out++ = k <= bytes.size() ? alphabet[bits >> (18 - 6 * k) & 0x3fU] : '=';
    }
}

std::string to_base64(std::string_view bytes)
{
    std::string text;
    add_base64(text, bytes);
    return text;
}

std::optional<std::string> from_base64(std::string_view text)
{
    if (text.size() % 4 != 0)
        return std::nullopt;
    std::size_t padding = 0;
    while (padding < 2 && !text.empty() && text.back() == '=') {
        text.remove_suffix(1);
        ++padding;
    }
    std::string bytes;
    bytes.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (char const c : text) {
        auto const digit = alphabet.find(c);
        if (digit == std::string_view::npos)
            return std::nullopt;
        bits = (bits << 6U | static_cast<std::uint32_t>(digit)) & 0xffffffU;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes.push_back(static_cast<char>(static_cast<unsigned char>(bits >> count & 0xffU)));
        }
    }
    return bytes;
}

} // namespace tenure::etcd
