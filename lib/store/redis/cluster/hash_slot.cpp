// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Hash slots of keys and ranges.
#include "hash_slot.hpp"

#include "store/redis/key_names.hpp"

#include <runtime/immortal.hpp>

#include <boost/crc.hpp>

#include <limits>
#include <vector>

namespace tenure::redis
{

namespace
{

/// finds the lowest number in each slot; takes a few milliseconds, once
std::vector<std::uint32_t> find_slot_numbers()
{
    constexpr auto none = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> numbers(hash_slot_count, none);
    std::uint32_t missing = hash_slot_count;
    for (std::uint32_t number = 0; missing > 0; ++number) {
        auto& lowest = numbers[hash_slot(std::to_string(number))];
        if (lowest == none) {
            lowest = number;
            --missing;
        }
    }
    return numbers;
}

} // namespace

HashSlot hash_slot(std::string_view key) noexcept
{
    if (has_hash_tag(key)) {
        auto const open = key.find('{');
        key = key.substr(open + 1, key.find('}', open) - open - 1);
    }
    // CRC16 (XMODEM)
    boost::crc_optimal<16, 0x1021, 0, 0, false, false> crc;
    crc.process_bytes(key.data(), key.size());
    return static_cast<HashSlot>(crc.checksum() % hash_slot_count);
}

std::string slot_number(HashSlot slot)
{
    static Immortal<std::vector<std::uint32_t>> const numbers(find_slot_numbers());
    return std::to_string((*numbers).at(slot));
}

std::optional<HashSlot> shared_slot(KeyRange const& range)
{
    // a number after the prefix can neither open nor close a hash tag
    if (range.count == 1 || has_hash_tag(range.prefix))
        return hash_slot(range.key(0));
    return std::nullopt;
}

} // namespace tenure::redis
