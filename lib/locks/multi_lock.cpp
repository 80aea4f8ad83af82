// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// MultiLock: checks the named locks and starts acquisitions of all of them.
#include <tenure/multi_lock.hpp>

#include "multi_acquisition.hpp"
#include "part_lock.hpp"
#include "try_handler.hpp"

#include "engine/core.hpp"
#include "engine/lease_target.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace tenure
{

namespace locks
{

OrderedLocks::OrderedLocks(std::vector<Lock> named)
{
    if (named.empty())
        throw std::invalid_argument("MultiLock of no locks: name at least one");
    check_stores(named);
    auto const place = [&](std::size_t index) {
        auto const& lock = named[index];
        return std::tie(core_of(lock).order_name(), lock.key());
    };
    std::vector<std::size_t> order(named.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    // for a key that was named several times the first mention counts
    auto const repeated = std::ranges::unique(order, [&](std::size_t a, std::size_t b) {
        bool const same_key = place(a) == place(b);
        if (same_key && named[a].target_->share() != named[b].target_->share())
            throw std::invalid_argument(
                "MultiLock of the key \"" + named[a].key() +
                "\" twice, by locks of different kinds: name one of them, the stronger one");
        return same_key;
    });
    order.erase(repeated.begin(), repeated.end());
    if (order.size() > MultiLock::most_locks)
        throw std::invalid_argument(
            "MultiLock of " + std::to_string(order.size()) + " locks: at most " +
            std::to_string(MultiLock::most_locks));
    as_named_.resize(order.size());
    std::iota(as_named_.begin(), as_named_.end(), std::size_t{0});
    std::ranges::sort(as_named_, [&](std::size_t a, std::size_t b) { return order[a] < order[b]; });
    locks_.reserve(order.size());
    for (auto const index : order)
        locks_.push_back(std::move(named[index]));
}

std::shared_ptr<engine::LeaseTarget> const& OrderedLocks::target(std::size_t position) const noexcept
{
    return locks_[position].target_;
}

engine::Core& OrderedLocks::core_of(Lock const& lock) noexcept
{
    return *lock.target_->handle()->core();
}

void OrderedLocks::check_stores(std::vector<Lock> const& named)
{
    std::map<engine::Core const*, Lock const*> stores;
    for (auto const& lock : named)
        stores.try_emplace(&core_of(lock), &lock);
    if (stores.size() == 1)
        return;
    std::map<std::string, Lock const*> names;
    for (auto const& [core, lock] : stores) {
        auto const& name = core->order_name();
        auto const where = lock->target_->handle()->core()->store_log().store();
        if (name.empty())
            throw std::invalid_argument(
                "MultiLock over several stores, and StoreOptions::order_name is empty for " + where +
                ": give each store a name that is the same in all processes, so that all wait in the same order");
        if (auto const [other, is_new] = names.try_emplace(name, lock); !is_new)
            throw std::invalid_argument(
                "MultiLock over several stores, and StoreOptions::order_name is '" + name + "' for " + where +
                " and for " + other->second->target_->handle()->core()->store_log().store() +
                ": give each store a name of its own, or use one Store for both locks");
    }
}

} // namespace locks

namespace
{

std::vector<Lock> locks_of(Store const& store, MultiLockConfig config)
{
    std::vector<Lock> locks;
    locks.reserve(config.keys.size());
    for (auto& key : config.keys)
        locks.push_back(
            locks::PartLock(store, {std::move(key), config.ttl, config.lease, config.note}, "MultiLockConfig", "keys"));
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
    return locks->core().runtime()->user_executor();
}

template <class Result>
void MultiLock::start(
    LocksPtr const& locks, AcquireOptions const& options,
    asio::any_completion_handler<void(error_code, Result)> handler)
{
    auto& core = locks->core();
    locks::MultiAcquisition::Handler completion(locks::plain_handler(std::move(handler)), core.runtime().get());
    if (core.same_process())
        locks::MultiAcquisition::start(locks, options, engine::is_try_result<Result>, std::move(completion));
    else
        std::move(completion).complete_at_once(make_error_code(errc::forked), LeaseSet());
}

template void
MultiLock::start(LocksPtr const&, AcquireOptions const&, asio::any_completion_handler<void(error_code, LeaseSet)>);
template void MultiLock::start(
    LocksPtr const&, AcquireOptions const&, asio::any_completion_handler<void(error_code, std::optional<LeaseSet>)>);

} // namespace tenure
