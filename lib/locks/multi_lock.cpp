// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/multi_lock.hpp>

#include "multi_acquisition.hpp"
#include "ordered_locks.hpp"

#include "engine/core.hpp"

#include <tenure/errc.hpp>

#include <utility>

namespace tenure
{

namespace
{

std::vector<Lock> locks_of(Store const& store, MultiLockConfig config)
{
    std::vector<Lock> locks;
    locks.reserve(config.keys.size());
    for (auto& key : config.keys)
        locks.emplace_back(store, LockConfig{std::move(key), config.ttl, config.lease, config.note});
    return locks;
}

} // namespace

MultiLock::MultiLock(Store store, MultiLockConfig config)
    : MultiLock(locks_of(store, std::move(config)))
{
}

MultiLock::MultiLock(std::vector<Lock> locks)
    : locks_(std::make_shared<locks::OrderedLocks const>(std::move(locks)))
{
}

std::size_t MultiLock::size() const noexcept
{
    return locks_->size();
}

asio::any_io_executor const& MultiLock::executor_of(LocksPtr const& locks) noexcept
{
    return locks->core().runtime()->executor();
}

void MultiLock::start(
    LocksPtr const& locks, AcquireOptions const& options, bool is_try,
    asio::any_completion_handler<void(error_code, LeaseSet)> handler)
{
    auto& core = locks->core();
    locks::MultiAcquisition::Handler completion(std::move(handler), core.runtime().get());
    if (core.same_process())
        locks::MultiAcquisition::start(locks, options, is_try, std::move(completion));
    else
        std::move(completion).post(make_error_code(errc::forked), LeaseSet());
}

} // namespace tenure
