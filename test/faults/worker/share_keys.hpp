// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "faults/arena.hpp"
#include "faults/random.hpp"
#include "faults/share_work.hpp"

#include <tenure/tenure.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

namespace tenure::faults
{

/** The fair locks, read-write locks and semaphores of one worker. */
class ShareKeys
{
public:
    ShareKeys(Store const& store, Arena const& arena, ShareWork work);

    /** One acquisition: of `semaphore`, or of `lock` if that is null. */
    struct Demand {
        Part part;
        AcquireOptions options;
        Lock const* lock = nullptr;
        Semaphore const* semaphore = nullptr;
    };
    /** A third of the acquisitions of shares time out, or all on a fair lock by every third worker of a calm run. */
    [[nodiscard]] Demand choose(std::uint32_t cell, Random& random) const;
    [[nodiscard]] std::chrono::milliseconds time_to_hold(Random& random) const;
    [[nodiscard]] ShareWork const& work() const noexcept { return work_; }

private:
    [[nodiscard]] std::chrono::milliseconds patience(char kind, Random& random) const;

    Arena arena_;
    ShareWork work_;
    // by cell
    std::map<std::uint32_t, Lock> fair_locks_;
    std::map<std::uint32_t, ReadWriteLock> read_write_locks_;
    /// with each number of permits
    std::map<std::uint32_t, std::vector<Semaphore>> semaphores_;
};

} // namespace tenure::faults
