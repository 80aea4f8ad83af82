// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ShardGroup: checks its config, and answers from the state of its run.
#include <tenure/shard_group.hpp>

#include "group_state.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace tenure
{

namespace
{

using std::chrono::milliseconds;

/// leaves room for `:member:4095`
constexpr std::size_t longest_group_name = 1'000;

void check_field(char const* field, std::int64_t value, std::int64_t least, std::int64_t most, char const* unit = "")
{
    if (value < least || value > most)
        throw std::invalid_argument(
            std::string("ShardGroupConfig::") + field + " is " + std::to_string(value) + unit + ": must be from " +
            std::to_string(least) + unit + " to " + std::to_string(most) + unit);
}

ShardGroupConfig checked(ShardGroupConfig config)
{
    check_key("ShardGroupConfig::name", config.name);
    if (config.name.size() > longest_group_name)
        throw std::invalid_argument(
            "ShardGroupConfig::name has " + std::to_string(config.name.size()) + " bytes: must have at most " +
            std::to_string(longest_group_name));
    constexpr auto day = milliseconds(std::chrono::hours{24}).count();
    check_field("shards", config.shards, 1, 65'536);
    check_field("max_members", config.max_members, 1, 4'096);
    check_field("weight", config.weight, 1, std::min<std::int64_t>(16, config.max_members));
    check_field("drain", config.drain.count(), 0, day, " ms");
    check_field("rebalance_pause", config.rebalance_pause.count(), 0, day, " ms");
    return config;
}

locks::EnginePool pool_of(Store const& store, ShardGroupConfig const& config, char const* kind, std::uint32_t size)
{
    return locks::EnginePool(
        store,
        {.prefix = config.name + kind, .size = size, .ttl = config.ttl, .lease = config.lease, .note = config.note});
}

} // namespace

locks::GroupState::GroupState(Store const& store_of, ShardGroupConfig checked)
    : config(std::move(checked))
    , members(pool_of(store_of, config, ":member:", config.max_members))
    , shards(pool_of(store_of, config, ":shard:", config.shards))
{
}

ShardGroup::ShardGroup(Store store, ShardGroupConfig config)
    : state_(std::make_shared<locks::GroupState>(store, checked(std::move(config))))
{
}

ShardGroup::executor_type ShardGroup::get_executor() const noexcept
{
    return state_->members.get_executor();
}

std::string const& ShardGroup::name() const noexcept
{
    return state_->config.name;
}

KeyRangePtr ShardGroup::member_range() const noexcept
{
    return state_->members.range();
}

KeyRangePtr ShardGroup::shard_range() const noexcept
{
    return state_->shards.range();
}

std::vector<std::uint32_t> ShardGroup::owned() const
{
    std::lock_guard const lock(state_->mutex);
    auto owned = state_->owned;
    std::ranges::sort(owned);
    return owned;
}

std::vector<std::uint32_t> ShardGroup::members() const
{
    std::lock_guard const lock(state_->mutex);
    return state_->live;
}

} // namespace tenure
