// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/key_range.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::redis
{

/** A part of the key space of a cluster: 0 .. 16383. */
using HashSlot = std::uint16_t;
inline constexpr std::uint32_t hash_slot_count = 16384;

/** The slot of a key or channel: CRC16 (XMODEM) of the text between its first `{` and the next `}`, or of the whole
 *  text without such a tag. */
[[nodiscard]] HashSlot hash_slot(std::string_view key) noexcept;

/** The slot that all keys of the range share; nullopt for a spread range (several keys without a hash tag). */
[[nodiscard]] std::optional<HashSlot> shared_slot(KeyRange const& range);

/** The lowest decimal number whose text is in the slot. */
[[nodiscard]] std::string slot_number(HashSlot slot);

} // namespace tenure::redis
