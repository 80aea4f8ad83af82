// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "hash_slot.hpp"
#include "store/redis/link/server_address.hpp"

#include <tenure/inspection.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tenure::redis
{

/** A hash slot that a master is about to give to another node, or to take from it. */
struct OpenSlot {
    HashSlot slot = 0;
    /// taken from the other node; false: given to it
    bool importing = false;
    /// ID and address of the other node, as far as the cluster knows it
    std::string other;
};

/** Reads the open slots of the answering node from its reply to CLUSTER NODES. */
[[nodiscard]] std::vector<OpenSlot> read_open_slots(std::string_view nodes);

/** Makes the finding about the open slots of one master. New claims on keys of such a slot wait until it is closed. */
[[nodiscard]] Finding judge_open_slots(std::vector<OpenSlot> const& slots, ServerAddress const& master);

} // namespace tenure::redis
