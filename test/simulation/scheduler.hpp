// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "random.hpp"
#include "time.hpp"
#include "work.hpp"

#include "harness/immovable.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenure::simulation
{

/** Which simulated process; a lane of the scheduler. */
using ProcessId = std::uint32_t;
constexpr ProcessId most_processes = 8;

/** The receiver of a scheduled event. */
class Receiver : test::Immovable
{
public:
    virtual ~Receiver() = default;

    virtual void on_event(std::uint32_t what, std::uint64_t value) = 0;
};

/** Virtual time, and the order in which things happen. While processes have work that is ready, a random piece of it
 *  runs next, as on a machine with many threads; when none is left, time goes on to the next instant at which something
 *  happens. The same seed gives the same order, always. */
class Scheduler
{
public:
    /** Forgets everything, and starts a new world. Keeps its memory. */
    void begin(std::uint64_t seed);

    [[nodiscard]] Ns now() const noexcept { return now_; }

    void at(Ns when, Receiver& receiver, std::uint32_t what, std::uint64_t value);
    void post(ProcessId process, Work work);

    // -- what happens to processes --

    /** Its work waits. */
    void hold(ProcessId process) noexcept { lanes_[process].held = true; }
    /** Its work waits after it has run this many more pieces. */
    void hold_after(ProcessId process, std::uint32_t pieces) noexcept;
    void let_run(ProcessId process) noexcept;
    [[nodiscard]] bool held(ProcessId process) const noexcept { return lanes_[process].held; }
    [[nodiscard]] bool has_work(ProcessId process) const noexcept { return !lanes_[process].ready.empty(); }
    /** Destroys what never ran, and what that posts while it goes. */
    void discard(ProcessId process) noexcept;

    /** Runs one piece of work, if any is ready. Exceptions of the work are passed on. */
    bool run_ready();
    [[nodiscard]] bool anything_ready() const noexcept;

    /** When the next thing happens. */
    [[nodiscard]] Ns next() const noexcept { return events_.empty() ? end_of_time : events_.front().when; }
    /** Goes on to the next thing that happens; false: nothing ever will. */
    bool advance();

    /** Folds a number into the trace: worlds with the same trace went the same way. */
    void trace(std::uint64_t number) noexcept { trace_ = (trace_ ^ number) * 0x100000001b3U ^ (trace_ >> 29U); }
    [[nodiscard]] std::uint64_t trace() const noexcept { return trace_; }
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

    static constexpr Ns end_of_time = Ns{1} << 62;

private:
    struct Event {
        Ns when;
        std::uint64_t number;
        Receiver* receiver;
        std::uint64_t value;
        std::uint32_t what;
    };
    struct Later {
        bool operator()(Event const& left, Event const& right) const noexcept
        {
            return left.when != right.when ? left.when > right.when : left.number > right.number;
        }
    };
    struct Lane {
        std::vector<Work> ready;
        bool held = false;
        /// pieces of work that run until it is held; 0: it goes on
        std::uint32_t pieces = 0;
    };

    Ns now_ = 0;
    std::uint64_t numbers_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t trace_ = 0;
    Random random_;
    /// a heap, the next one in front
    std::vector<Event> events_;
    std::array<Lane, most_processes> lanes_;
};

} // namespace tenure::simulation
