// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/metrics_page.hpp>

#include <cstddef>
#include <cstdint>

namespace tenure
{

namespace
{

constexpr std::size_t longest_value = 160;
constexpr char digits[] = "0123456789abcdef";

bool continues(std::string_view text, std::size_t at) noexcept
{
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
}

/** Length of the UTF-8 character at this place; 0 if the bytes are not UTF-8. */
std::size_t character_at(std::string_view text, std::size_t at) noexcept
{
    auto const first = static_cast<unsigned char>(text[at]);
    auto const second = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return continues(text, at + 1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        // neither the long form of a short character nor half of a pair of UTF-16
        bool const allowed = (first != 0xe0 || second >= 0xa0) && (first != 0xed || second < 0xa0);
        return allowed && continues(text, at + 1) && continues(text, at + 2) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        bool const allowed = (first != 0xf0 || second >= 0x90) && (first != 0xf4 || second < 0x90);
        return allowed && continues(text, at + 1) && continues(text, at + 2) && continues(text, at + 3) ? 4 : 0;
    }
    return 0;
}

/** FNV-1a: the same in each run and on each machine. */
std::string hash_of(std::string_view text)
{
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (auto const c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    std::string written;
    for (int shift = 60; shift >= 0; shift -= 4)
        written.push_back(digits[hash >> static_cast<unsigned>(shift) & 0xfU]);
    return written;
}

} // namespace

std::string label_value(std::string_view text)
{
    std::string value;
    std::size_t cut = 0;
    constexpr std::size_t room_for_hash = 16 + 3;
    for (std::size_t at = 0; at < text.size();) {
        auto const size = character_at(text, at);
        if (size > 0) {
            value.append(text.substr(at, size));
            at += size;
        } else {
            auto const byte = static_cast<unsigned char>(text[at++]);
            value.append("\\x").push_back(digits[byte >> 4U]);
            value.push_back(digits[byte & 0xfU]);
        }
        if (value.size() <= longest_value - room_for_hash)
            cut = value.size();
        if (value.size() > longest_value) {
            value.resize(cut);
            return value + "..." + hash_of(text);
        }
    }
    return value;
}

} // namespace tenure
