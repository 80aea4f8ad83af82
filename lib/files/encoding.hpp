// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenure
{

/** FNV-1a over words of 8 bytes; the bytes after the last whole word are ignored. */
[[nodiscard]] std::uint64_t checksum(void const* data, std::size_t bytes) noexcept;

/** Of a structure with a `checksum` and a function `sum`: all of it was written at once. */
template <class Checked>
[[nodiscard]] bool is_whole(Checked const& checked) noexcept
{
    return checked.checksum == checked.sum();
}
template <class Checked>
void seal(Checked& checked) noexcept
{
    checked.checksum = checked.sum();
}

/** Two hexadecimal digits for each byte. */
[[nodiscard]] std::string hexadecimal(std::span<std::byte const> bytes);

/** A name for a file that stands for a text: `=` and the text, its unusual bytes as `%xx`. A long one ends with a
 *  checksum of the text. */
[[nodiscard]] std::string file_name_of(std::string_view text);

} // namespace tenure
