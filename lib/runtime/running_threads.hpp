// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fork_guard.hpp"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tenure::engine
{

class OwnThread;

/** The threads of this process that belong to stores, for the end of the program. Stores without users then get a
 *  moment to give back their keys. After that the threads are halted, so that none touches objects that are destroyed
 *  after `main`. Thread-safe. */
class RunningThreads
{
public:
    using Number = std::uint64_t;

    /** The instance of this process: a child of fork gets another. Never deleted, because threads may outlive all
     *  other objects. */
    [[nodiscard]] static RunningThreads& instance();
    /** As `instance`; null if there never was a thread. */
    [[nodiscard]] static RunningThreads* existing() noexcept;

    /** Adds a starting thread. */
    [[nodiscard]] Number add(std::weak_ptr<OwnThread> thread);
    /** Removes a thread that has finished its last access. */
    void remove(Number number) noexcept;

    /** Call it at the end of the program. */
    void end() noexcept;

private:
    [[nodiscard]] std::vector<std::weak_ptr<OwnThread>> all() const;

    std::uint64_t const fork_generation_ = fork_generation();
    mutable std::mutex mutex_;
    // -- under the mutex --
    /// a thread has ended
    std::condition_variable ended_;
    std::map<Number, std::weak_ptr<OwnThread>> threads_;
    Number last_ = 0;
    std::uint64_t removed_ = 0;
};

} // namespace tenure::engine
