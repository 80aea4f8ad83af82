// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/slot_pool.hpp>

#include "engine/start_acquisition.hpp"

#include <stdexcept>
#include <utility>

namespace tenure
{

SlotPool::SlotPool(Store store, SlotPoolConfig config)
{
    check_key("SlotPoolConfig::prefix", config.prefix);
    try {
        contest_ = std::make_shared<engine::Contest>(
            store.handle(), numbered_keys(std::move(config.prefix), config.size), "SlotPoolConfig", config.ttl,
            config.lease, config.note, config.reuse_after);
    } catch (std::invalid_argument const& error) {
        std::string const what = error.what();
        if (what.starts_with("size"))
            throw std::invalid_argument("SlotPoolConfig::" + what);
        throw;
    }
}

SlotPool::executor_type SlotPool::get_executor() const noexcept
{
    return executor_of(contest_);
}

asio::any_io_executor const& SlotPool::executor_of(ContestPtr const& contest) noexcept
{
    return contest->handle()->core()->runtime()->executor();
}

std::string const& SlotPool::prefix() const noexcept
{
    return contest_->range()->prefix;
}

std::uint32_t SlotPool::size() const noexcept
{
    return contest_->range()->count;
}

KeyRangePtr SlotPool::range() const noexcept
{
    return contest_->range();
}

void SlotPool::start_acquire(
    ContestPtr const& contest, AcquireOptions const& options, bool only_try, AcquireHandler handler)
{
    engine::start_acquisition<Slot>(contest, options, only_try, std::move(handler));
}

} // namespace tenure
