// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "sha1.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tenure::redis
{

namespace
{

using State = std::array<std::uint32_t, 5>;

void mix_block(State& state, std::string_view block)
{
    std::array<std::uint32_t, 80> words{};
    for (std::size_t i = 0; i < 16; ++i)
        for (std::size_t byte = 0; byte < 4; ++byte)
            words[i] = (words[i] << 8U) | static_cast<unsigned char>(block[i * 4 + byte]);
    for (std::size_t i = 16; i < 80; ++i)
        words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);

    auto [a, b, c, d, e] = state;
    for (std::size_t i = 0; i < 80; ++i) {
        std::uint32_t mixed = 0;
        if (i < 20)
            mixed = ((b & c) | (~b & d)) + 0x5a827999U;
        else if (i < 40)
            mixed = (b ^ c ^ d) + 0x6ed9eba1U;
        else if (i < 60)
            mixed = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcU;
        else
            mixed = (b ^ c ^ d) + 0xca62c1d6U;
        auto const next = std::rotl(a, 5) + mixed + e + words[i];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

} // namespace

std::string sha1_hex(std::string_view text)
{
    State state{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
    std::string padded(text);
    padded.push_back('\x80');
    padded.resize((padded.size() + 8 + 63) / 64 * 64, '\0');
    std::uint64_t const bits = std::uint64_t{text.size()} * 8;
    for (std::size_t byte = 0; byte < 8; ++byte)
        padded[padded.size() - 1 - byte] = static_cast<char>((bits >> (8 * byte)) & 0xffU);
    for (std::size_t at = 0; at < padded.size(); at += 64)
        mix_block(state, std::string_view(padded).substr(at, 64));

    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (auto const word : state)
        for (int shift = 28; shift >= 0; shift -= 4)
            hex.push_back(digits[(word >> shift) & 0xfU]);
    return hex;
}

} // namespace tenure::redis
