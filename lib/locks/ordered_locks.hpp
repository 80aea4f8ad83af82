// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/lock.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace tenure::engine
{
class LeaseTarget;
class Core;
} // namespace tenure::engine

namespace tenure::locks
{

/** The locks of a MultiLock without repetitions, in the one order in which every process waits for them. */
class OrderedLocks
{
public:
    /** @throws std::invalid_argument for no locks, too many, or stores that cannot be ordered */
    explicit OrderedLocks(std::vector<Lock> named);

    [[nodiscard]] std::size_t size() const noexcept { return locks_.size(); }
    [[nodiscard]] Lock const& operator[](std::size_t position) const { return locks_[position]; }
    [[nodiscard]] std::shared_ptr<engine::LeaseTarget> const& target(std::size_t position) const noexcept;
    /** The positions of the locks in the order in which they were named. */
    [[nodiscard]] std::vector<std::size_t> const& as_named() const noexcept { return as_named_; }
    /** The engine of the first lock's store: the strand and the clock of operations on all of them. */
    [[nodiscard]] engine::Core& core() const noexcept { return core_of(locks_.front()); }

private:
    [[nodiscard]] static engine::Core& core_of(Lock const& lock) noexcept;
    static void check_stores(std::vector<Lock> const& named);

    std::vector<Lock> locks_;
    std::vector<std::size_t> as_named_;
};

} // namespace tenure::locks
