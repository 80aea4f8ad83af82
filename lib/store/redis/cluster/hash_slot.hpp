// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/key_range.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** One of the parts into which a cluster divides all keys: 0 .. 16383. */
using HashSlot = std::uint16_t;
inline constexpr std::uint32_t hash_slot_count = 16384;

/** The slot of a key or channel: CRC16 (XMODEM) of the text between its first `{` and the next `}`, or of the whole
 * text if there is none. */
[[nodiscard]] HashSlot hash_slot(std::string_view key) noexcept;

/** The slot that all keys of the range share; unset where they spread: a range of several keys without a hash tag. */
[[nodiscard]] std::optional<HashSlot> shared_slot(KeyRange const& range);

/** A text that is in the slot: the lowest decimal number that is. */
[[nodiscard]] std::string slot_number(HashSlot slot);

} // namespace tenure::redis
