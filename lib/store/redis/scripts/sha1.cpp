// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "sha1.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace tenure::redis
{

std::string sha1_hex(std::string_view text)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1)
        throw std::runtime_error("OpenSSL computes no SHA-1 here, by which Redis names scripts");
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) {
        hex += digits[digest.at(i) >> 4U];
        hex += digits[digest.at(i) & 0xfU];
    }
    return hex;
}

} // namespace tenure::redis
