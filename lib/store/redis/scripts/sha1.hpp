// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <string>
#include <string_view>

namespace tenure::redis
{

/** The SHA-1 of `text` in 40 lower-case hexadecimal digits: the name under which servers cache a script. It protects
 * nothing.
 *  @throws std::runtime_error if OpenSSL is configured without SHA-1 */
[[nodiscard]] std::string sha1_hex(std::string_view text);

} // namespace tenure::redis
