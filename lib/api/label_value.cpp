// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/metrics_page.hpp>

#include <config/utf8.hpp>

#include <cstddef>
#include <cstdint>

namespace tenure
{

namespace
{

constexpr std::size_t longest_value = 160;
constexpr char digits[] = "0123456789abcdef";

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
        auto const size = utf8_character_at(text, at);
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
