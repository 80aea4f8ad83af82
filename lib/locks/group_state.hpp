// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "engine/completion.hpp"
#include "engine/core.hpp"
#include "runtime/names.hpp"

#include <tenure/shard_group.hpp>
#include <tenure/slot_pool.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

namespace tenure::locks
{

/** What the copies of a group share. */
struct GroupState {
    GroupState(Store const& store, ShardGroupConfig checked);

    ShardGroupConfig const config;
    SlotPool const members;
    SlotPool const shards;
    std::shared_ptr<engine::Handle> const store;
    std::atomic<bool> runs{false};

    std::mutex mutex;
    // -- under the mutex: as of the last event of the run --
    std::vector<std::uint32_t> owned;
    std::vector<std::uint32_t> live;
};

/** Runs one member of the group.
 *  @param executor  for the works */
void start_shard_run(
    std::shared_ptr<GroupState> group, asio::any_io_executor const& executor, detail::ShardWork work,
    engine::Completion<void(std::exception_ptr)> handler);

} // namespace tenure::locks
