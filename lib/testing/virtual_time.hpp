// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/runtime.hpp>
#include <tenure/testing.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>

namespace tenure::testing
{

/** The pending work and timers of virtual time. */
struct VirtualTime::State {
    struct Work {
        Work() = default;
        Work(Work const&) = delete;
        Work& operator=(Work const&) = delete;
        virtual ~Work() = default;
        virtual void run() = 0;
    };

    /** At that instant or, if it has passed, when what is ready now has run. */
    std::uint64_t at(Instant when, Task task);
    void cancel(std::uint64_t id) noexcept;
    /** Destroys what has not run, and what that posts while it goes. */
    void discard() noexcept;

    // an arbitrary start: nothing may depend on it, so it is not 0
    Instant now{std::chrono::hours{1}};
    std::deque<std::unique_ptr<Work>> ready;
    std::map<std::pair<Instant, std::uint64_t>, Task> timers;
    std::uint64_t last_timer = 0;
};

/** A runtime of that time; each one stands for a process of its own. */
[[nodiscard]] std::shared_ptr<Runtime> make_runtime(VirtualTime& time, std::uint64_t seed);

} // namespace tenure::testing
