// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "run/descriptor.hpp"

#include <tenure/clock.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tenure::tool
{

/** Where the workers of the demo write down what they do: memory that all of them share, threads and processes alike.
 * It is independent of the store, so it can detect a slot with two holders. */
class DemoBoard
{
public:
    static constexpr std::uint32_t most_workers = 32;
    static constexpr std::uint32_t most_slots = 32;

    enum class Doing : std::uint32_t { starting, waiting, working, paused, stopped, killed };

    /** The record of one worker, written by that worker except where noted. */
    struct Worker {
        std::atomic<Doing> doing{Doing::starting};
        /// the slot it works under; meaningless while it does not
        std::atomic<std::uint32_t> slot{0};
        /// bit i: it has had slot i
        std::atomic<std::uint64_t> slots_had{0};
        std::atomic<std::uint32_t> turns{0};
        /// turns that ended because the lease was lost
        std::atomic<std::uint32_t> losses{0};
        /// set by the director: this turn lasts until the token is cancelled
        std::atomic<bool> works_on{false};
    };

    /** A new board. @throws std::system_error */
    DemoBoard();
    /** The board that another process made and passed on as this descriptor. @throws std::system_error */
    explicit DemoBoard(int descriptor);

    /** To pass on to another process. */
    [[nodiscard]] int descriptor() const noexcept { return memory_.number(); }

    [[nodiscard]] Worker& worker(std::uint32_t index) noexcept { return content_->workers[index]; }

    /** A worker starts to work under a slot. */
    void enter(std::uint32_t slot, std::uint32_t worker, std::uint64_t fencing_token, Instant valid_until) noexcept;
    /** It still does, and its lease has been renewed up to then. */
    void stay(std::uint32_t slot, Instant valid_until) noexcept;
    /** It has ended its work under the slot. One that was paused may find another worker there. */
    void leave(std::uint32_t slot, std::uint32_t worker) noexcept;

    /** How often a worker used a slot while another worker's lease on it was still valid. */
    [[nodiscard]] std::uint32_t collisions() const noexcept { return content_->collisions; }
    /** How often a later holder of a slot got a fencing token that was not greater. */
    [[nodiscard]] std::uint32_t disorders() const noexcept { return content_->disorders; }

    void close() noexcept { content_->closed = true; }
    /** The demo is over: workers release and end. */
    [[nodiscard]] bool closed() const noexcept { return content_->closed; }

private:
    struct Slot {
        /// index of the worker that uses it, plus one; 0: none
        std::atomic<std::uint32_t> holder{0};
        /// nanoseconds of the boot clock
        std::atomic<std::int64_t> valid_until{0};
        std::atomic<std::uint64_t> last_token{0};
    };
    struct Content {
        std::array<Worker, most_workers> workers;
        std::array<Slot, most_slots> slots;
        std::atomic<std::uint32_t> collisions{0};
        std::atomic<std::uint32_t> disorders{0};
        std::atomic<bool> closed{false};
    };
    struct Unmap {
        void operator()(Content* content) const noexcept;
    };
    static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

    Descriptor memory_;
    std::unique_ptr<Content, Unmap> content_;
};

/** `worker-1` for index 0. */
[[nodiscard]] std::string demo_worker_name(std::uint32_t index);

} // namespace tenure::tool
