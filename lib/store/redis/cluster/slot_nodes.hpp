// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "cluster.hpp"
#include "hash_slot.hpp"
#include "slot_way.hpp"

#include "store/redis/claims.hpp"
#include "store/redis/node.hpp"
#include "store/redis/releases.hpp"
#include "store/redis/renewals.hpp"

#include <tenure/key_range.hpp>

#include <cstdint>
#include <map>
#include <memory>

namespace tenure::redis
{

/** What the operations on the keys of one hash slot need: as for one server, whichever node it is. */
struct SlotNode {
    std::shared_ptr<SlotWay> way;
    /// for what creates no keys: goes along while the slot is being moved
    NodePtr follows;
    /// for what creates keys or concerns several: waits for the end of the move
    NodePtr waits;
    /// likewise, but is told
    NodePtr is_told;
    /// of locks, and of pools whose keys are all in the slot: by `waits`
    std::shared_ptr<Claims> claims;
    /// of single keys of spread ranges: by `is_told`
    std::shared_ptr<Claims> spread_claims;
    std::shared_ptr<Renewals> renewals;
    std::shared_ptr<Releases> releases;
    /// a claim in a spread range was refused here: others are tried first until then
    Instant avoid_until = Instant::min();
    Instant used{};
};

/** The slots in use. Shared by the operations under way. */
class SlotNodes
{
public:
    SlotNodes(std::shared_ptr<Cluster> cluster, bool delay_after_failover)
        : cluster_(std::move(cluster))
        , delays_after_failover_(delay_after_failover)
    {
    }

    [[nodiscard]] Cluster& cluster() const noexcept { return *cluster_; }
    [[nodiscard]] Runtime& runtime() const noexcept { return *cluster_->runtime(); }

    /** Valid until the next call. */
    [[nodiscard]] SlotNode& at(HashSlot slot);
    [[nodiscard]] SlotNode& of(KeyRange const& range, std::uint32_t index) { return at(hash_slot(range.key(index))); }

    /** What is kept about ranges that spread over the nodes. */
    [[nodiscard]] RangeCache& spread_ranges() noexcept { return spread_ranges_; }

private:
    void forget_unused();

    std::shared_ptr<Cluster> cluster_;
    bool delays_after_failover_;
    std::map<HashSlot, SlotNode> slots_;
    RangeCache spread_ranges_;
};

/** One key of a range as a range of its own: with the same channel and prefix. */
[[nodiscard]] KeyRangePtr single_key(KeyRange const& range, std::uint32_t index);

} // namespace tenure::redis
