// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>
#include <string_view>

namespace tenure::test
{

/** The first half of the random bits with which an owner ends (docs/integrators/redis-protocol.md): tells one
 * acquisition from all others without keeping the secret that releases its key. 0: the value is no owner. Read here and
 * not by the library.
 */
[[nodiscard]] std::uint64_t owner_mark(std::string_view value) noexcept;

} // namespace tenure::test
