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

/** Which master serves which hash slot, as one node described it and redirects have corrected it since. */
class SlotMap
{
public:
    /** Null: no master is known to serve the slot. Valid until the map changes. */
    [[nodiscard]] ServerAddress const* owner(HashSlot slot) const noexcept
    {
        return owners_[slot] == nobody ? nullptr : &masters_[owners_[slot]];
    }

    /** @param last  included */
    void assign(HashSlot first, HashSlot last, ServerAddress const& master);

    /** The masters that serve at least one slot, in the order in which they became known. */
    [[nodiscard]] std::vector<ServerAddress> masters() const;
    [[nodiscard]] bool serves(ServerAddress const& master) const;
    /** How many slots have a master. */
    [[nodiscard]] std::size_t covered() const noexcept;

    friend bool operator==(SlotMap const& a, SlotMap const& b);

private:
    static constexpr std::uint16_t nobody = 0xffff;

    [[nodiscard]] std::uint16_t place_of(ServerAddress const& master);

    /// each address once; an address that serves no slot stays, because the next map replaces this one
    std::vector<ServerAddress> masters_;
    /// places in `masters_`
    std::vector<std::uint16_t> owners_ = std::vector<std::uint16_t>(hash_slot_count, nobody);
};

/** How the node was reached that answers: an address without host means the same host, and TLS has ports of its own. */
struct AskedNode {
    ServerAddress address;
    bool tls = false;
};

/** Reads the answer to CLUSTER SHARDS; unset if it is malformed. Masters without a known address ("?") are left out. */
[[nodiscard]] std::optional<SlotMap> read_cluster_shards(resp::Value const& reply, AskedNode const& asked);

/** The same for CLUSTER SLOTS, which servers before Redis 7 have. */
[[nodiscard]] std::optional<SlotMap> read_cluster_slots(resp::Value const& reply, AskedNode const& asked);

} // namespace tenure::redis
