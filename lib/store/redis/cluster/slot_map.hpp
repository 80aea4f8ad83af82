// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "hash_slot.hpp"
#include "store/redis/link/server_address.hpp"

#include "store/redis/wire/value.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tenure::redis
{

/** The master of each hash slot, as described by one node and corrected by redirects. */
class SlotMap
{
public:
    /** The master of the slot; null if unknown. Valid until the map changes. */
    [[nodiscard]] ServerAddress const* owner(HashSlot slot) const noexcept
    {
        return owners_[slot] == nobody ? nullptr : &masters_[owners_[slot]];
    }

    /** @param last  inclusive */
    void assign(HashSlot first, HashSlot last, ServerAddress const& master);

    /** The masters that serve at least one slot, in the order in which they became known. */
    [[nodiscard]] std::vector<ServerAddress> masters() const;
    [[nodiscard]] bool serves(ServerAddress const& master) const;
    /** The number of slots that have a master. */
    [[nodiscard]] std::size_t covered() const noexcept;

    friend bool operator==(SlotMap const& a, SlotMap const& b);

private:
    static constexpr std::uint16_t nobody = 0xffff;

    [[nodiscard]] std::uint16_t place_of(ServerAddress const& master);

    /// each address once; an address without slots stays, because the next map replaces this one
    std::vector<ServerAddress> masters_;
    /// indexes into `masters_`
    std::vector<std::uint16_t> owners_ = std::vector<std::uint16_t>(hash_slot_count, nobody);
};

/** How the answering node was reached: an address without a host means the same host, and TLS has separate ports. */
struct AskedNode {
    ServerAddress address;
    bool tls = false;
};

/** Parses the reply to CLUSTER SHARDS; nullopt if it is malformed. Skips masters without a known address ("?"). */
[[nodiscard]] std::optional<SlotMap> read_cluster_shards(resp::Value const& reply, AskedNode const& asked);

/** As above for CLUSTER SLOTS, which servers before Redis 7 have. */
[[nodiscard]] std::optional<SlotMap> read_cluster_slots(resp::Value const& reply, AskedNode const& asked);

} // namespace tenure::redis
