// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// SlotMap: parsers for CLUSTER SHARDS and CLUSTER SLOTS.
#include "slot_map.hpp"

#include <algorithm>
#include <utility>

namespace tenure::redis
{

std::uint16_t SlotMap::place_of(ServerAddress const& master)
{
    auto const found = std::ranges::find(masters_, master);
    if (found != masters_.end())
        return static_cast<std::uint16_t>(found - masters_.begin());
    // more addresses than slots, which no cluster has
    if (masters_.size() >= nobody)
        return nobody;
    masters_.push_back(master);
    return static_cast<std::uint16_t>(masters_.size() - 1);
}

void SlotMap::assign(HashSlot first, HashSlot last, ServerAddress const& master)
{
    auto const place = place_of(master);
    for (std::uint32_t slot = first; slot <= last; ++slot)
        owners_[slot] = place;
}

std::vector<ServerAddress> SlotMap::masters() const
{
    std::vector<bool> serves(masters_.size());
    for (auto const place : owners_)
        if (place != nobody)
            serves[place] = true;
    std::vector<ServerAddress> result;
    for (std::size_t i = 0; i < masters_.size(); ++i)
        if (serves[i])
            result.push_back(masters_[i]);
    return result;
}

bool SlotMap::serves(ServerAddress const& master) const
{
    auto const found = std::ranges::find(masters_, master);
    return found != masters_.end() &&
           std::ranges::find(owners_, static_cast<std::uint16_t>(found - masters_.begin())) != owners_.end();
}

std::size_t SlotMap::covered() const noexcept
{
    return owners_.size() - static_cast<std::size_t>(std::ranges::count(owners_, nobody));
}

bool operator==(SlotMap const& a, SlotMap const& b)
{
    for (std::uint32_t slot = 0; slot < hash_slot_count; ++slot) {
        auto const* const one = a.owner(static_cast<HashSlot>(slot));
        auto const* const other = b.owner(static_cast<HashSlot>(slot));
        if ((one == nullptr) != (other == nullptr) || (one != nullptr && *one != *other))
            return false;
    }
    return true;
}

namespace
{

struct SlotRange {
    HashSlot first = 0;
    HashSlot last = 0;
};

std::optional<SlotRange> read_range(resp::Value const& first, resp::Value const& last)
{
    auto const begin = first.as_integer();
    auto const end = last.as_integer();
    if (!first.is_integer() || !last.is_integer() || begin < 0 || begin > end || end >= hash_slot_count)
        return std::nullopt;
    return SlotRange{static_cast<HashSlot>(begin), static_cast<HashSlot>(end)};
}

/// The value of a field: maps in RESP3, flat arrays in RESP2.
resp::Value const* field(resp::Value const& map, std::string_view name)
{
    auto const parts = map.elements();
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
        if (parts[i].as_string() == name)
            return &parts[i + 1];
    return nullptr;
}

/// Null and empty mean the asked host.
std::optional<std::string> host_from(resp::Value const& endpoint, AskedNode const& asked)
{
    if (endpoint.is_null() || (endpoint.is_string() && endpoint.as_string().empty()))
        return asked.address.host;
    if (!endpoint.is_string() || !may_be_host(endpoint.as_string()))
        return std::nullopt;
    return std::string(endpoint.as_string());
}

std::optional<std::uint16_t> port_from(resp::Value const* port)
{
    if (port == nullptr || !port->is_integer() || port->as_integer() < 1 || port->as_integer() > 65535)
        return std::nullopt;
    return static_cast<std::uint16_t>(port->as_integer());
}

/// The master among the nodes of one shard. After a failover two may report that role; the healthy one counts.
std::optional<ServerAddress> master_from(resp::Value const& nodes, AskedNode const& asked)
{
    std::optional<ServerAddress> master;
    bool is_well = false;
    for (auto const& node : nodes.elements()) {
        auto const* const role = field(node, "role");
        auto const* const endpoint = field(node, "endpoint");
        auto const* const health = field(node, "health");
        auto const port = port_from(field(node, asked.tls ? "tls-port" : "port"));
        if (role == nullptr || role->as_string() != "master" || !port)
            continue;
        auto const host = host_from(endpoint == nullptr ? resp::Value() : *endpoint, asked);
        bool const well = health == nullptr || health->as_string() == "online";
        if (host && (!master || (well && !is_well))) {
            master = ServerAddress{*host, *port};
            is_well = well;
        }
    }
    return master;
}

} // namespace

std::optional<SlotMap> read_cluster_shards(resp::Value const& reply, AskedNode const& asked)
{
    if (!reply.is_list())
        return std::nullopt;
    SlotMap map;
    for (auto const& shard : reply.elements()) {
        auto const* const slots = field(shard, "slots");
        auto const* const nodes = field(shard, "nodes");
        if (slots == nullptr || nodes == nullptr || slots->elements().size() % 2 != 0)
            return std::nullopt;
        auto const master = master_from(*nodes, asked);
        auto const bounds = slots->elements();
        for (std::size_t i = 0; i < bounds.size(); i += 2) {
            auto const range = read_range(bounds[i], bounds[i + 1]);
            if (!range)
                return std::nullopt;
            if (master)
                map.assign(range->first, range->last, *master);
        }
    }
    return map;
}

std::optional<SlotMap> read_cluster_slots(resp::Value const& reply, AskedNode const& asked)
{
    if (!reply.is_list())
        return std::nullopt;
    SlotMap map;
    for (auto const& entry : reply.elements()) {
        // first, last, master, replicas...; each node is host, port, ...
        auto const parts = entry.elements();
        if (parts.size() < 3 || parts[2].elements().size() < 2)
            return std::nullopt;
        auto const range = read_range(parts[0], parts[1]);
        auto const node = parts[2].elements();
        auto const port = port_from(&node[1]);
        if (!range || !port)
            return std::nullopt;
        if (auto const host = host_from(node[0], asked))
            map.assign(range->first, range->last, {*host, *port});
    }
    return map;
}

} // namespace tenure::redis
