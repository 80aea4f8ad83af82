// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "ordered_locks.hpp"

#include "engine/contest.hpp"

#include <tenure/multi_lock.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace tenure::locks
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
    // of a key that was named several times the first one counts
    auto const repeated =
        std::ranges::unique(order, [&](std::size_t a, std::size_t b) { return place(a) == place(b); });
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

engine::Core& OrderedLocks::core_of(Lock const& lock) noexcept
{
    return *lock.contest_->handle()->core();
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
        auto const where = lock->contest_->handle()->core()->journal().store();
        if (name.empty())
            throw std::invalid_argument(
                "MultiLock over several stores, and StoreOptions::order_name is empty for " + where +
                ": give each store a name that is the same in all processes, so that all wait in the same order");
        if (auto const [other, is_new] = names.try_emplace(name, lock); !is_new)
            throw std::invalid_argument(
                "MultiLock over several stores, and StoreOptions::order_name is '" + name + "' for " + where +
                " and for " + other->second->contest_->handle()->core()->journal().store() +
                ": give each store a name of its own, or use one Store for both locks");
    }
}

} // namespace tenure::locks
