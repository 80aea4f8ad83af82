// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// SlotPool: the public class over a LeaseTarget of several keys.
#include <tenure/slot.hpp>
#include <tenure/slot_pool.hpp>

#include "engine/lease_record.hpp"
#include "engine/lease_target.hpp"

#include <stdexcept>
#include <utility>

namespace tenure
{

namespace
{

std::shared_ptr<engine::LeaseTarget> target_of(std::shared_ptr<engine::Handle> store, SlotPoolConfig config)
{
    check_key("SlotPoolConfig::prefix", config.prefix);
    try {
        return std::make_shared<engine::LeaseTarget>(
            std::move(store), numbered_keys(std::move(config.prefix), config.size), "SlotPoolConfig", config.ttl,
            config.lease, config.note, config.reuse_after);
    } catch (std::invalid_argument const& error) {
        std::string const what = error.what();
        if (what.starts_with("size"))
            throw std::invalid_argument("SlotPoolConfig::" + what);
        throw;
    }
}

} // namespace

SlotPool::SlotPool(Store store, SlotPoolConfig config)
    : AcquirableKeys(target_of(store.handle_, std::move(config)))
{
}

std::string const& SlotPool::prefix() const noexcept
{
    return state_for()->range()->prefix;
}

std::uint32_t SlotPool::size() const noexcept
{
    return state_for()->range()->count;
}

std::uint32_t Slot::id() const
{
    auto const& held = record();
    if (held == nullptr)
        throw std::logic_error(
            "tenure::Slot::id(): this object holds no slot (it was moved from, or default-constructed), so there is no "
            "number to use");
    return held->claim().range->first + held->claim().index;
}

} // namespace tenure
