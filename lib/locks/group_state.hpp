// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/lease_target.hpp"
#include "runtime/names.hpp"

#include <tenure/shard_group.hpp>
#include <tenure/slot_pool.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tenure::locks
{

/** A pool, and the engine behind it. */
struct EnginePool : SlotPool {
    using SlotPool::SlotPool;
    [[nodiscard]] std::shared_ptr<engine::Handle> const& handle() const noexcept { return state_for()->handle(); }
};

/** What the copies of a group share. */
struct GroupState {
    GroupState(Store const& store, ShardGroupConfig checked);

    ShardGroupConfig const config;
    EnginePool const members;
    EnginePool const shards;
    std::atomic<bool> runs{false};

    std::mutex mutex;
    // -- under the mutex: as of the last event of the run --
    std::vector<std::uint32_t> owned;
    std::vector<std::uint32_t> live;
};

} // namespace tenure::locks
