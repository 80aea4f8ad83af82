// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Base64 by OpenSSL.
#include "base64.hpp"

#include <openssl/evp.h>

namespace tenure::etcd
{

namespace
{

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

[[nodiscard]] unsigned char* unsigned_data(char* text) noexcept
{
    return reinterpret_cast<unsigned char*>(text);
}
[[nodiscard]] unsigned char const* unsigned_data(std::string_view text) noexcept
{
    return reinterpret_cast<unsigned char const*>(text.data());
}

} // namespace

void add_base64(std::string& text, std::string_view bytes)
{
    auto const begin = text.size();
    text.resize(begin + (bytes.size() + 2) / 3 * 4);
    // OpenSSL writes a terminating zero, for which the string has room
    ::EVP_EncodeBlock(unsigned_data(text.data() + begin), unsigned_data(bytes), static_cast<int>(bytes.size()));
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
    auto digits = text;
    while (digits.ends_with('=') && text.size() - digits.size() < 2)
        digits.remove_suffix(1);
    // OpenSSL ignores spaces around the text, and accepts '=' anywhere
    if (digits.find_first_not_of(alphabet) != std::string_view::npos)
        return std::nullopt;
    std::string bytes(text.size() / 4 * 3, '\0');
    if (::EVP_DecodeBlock(unsigned_data(bytes.data()), unsigned_data(text), static_cast<int>(text.size())) < 0)
        return std::nullopt;
    bytes.resize(bytes.size() - (text.size() - digits.size()));
    return bytes;
}

} // namespace tenure::etcd
