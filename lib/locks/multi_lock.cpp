// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <tenure/multi_lock.hpp>

#include "multi_acquisition.hpp"
#include "ordered_locks.hpp"

#include "engine/core.hpp"

#include <tenure/errc.hpp>

#include <boost/system/errc.hpp>

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

template <class Result>
void start_acquisition(
    std::shared_ptr<locks::OrderedLocks const> const& locks, AcquireOptions const& options,
    detail::UserHandler<void(error_code, Result)> handler)
{
    engine::PendingHandler<void(error_code, Result)> pending(std::move(handler));
    auto& core = locks->core();
    if (!core.same_process()) {
        std::move(pending).post(make_error_code(errc::forked), Result());
        return;
    }
    locks::MultiAcquisition::start(locks, options, std::move(pending));
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
    LocksPtr const& locks, AcquireOptions const& options, detail::UserHandler<void(error_code, LeaseSet)> handler)
{
    start_acquisition(locks, options, std::move(handler));
}

void MultiLock::start(
    LocksPtr const& locks, AcquireOptions const& options,
    detail::UserHandler<void(error_code, std::optional<LeaseSet>)> handler)
{
    start_acquisition(locks, options, std::move(handler));
}

} // namespace tenure
