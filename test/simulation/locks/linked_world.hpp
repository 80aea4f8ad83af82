// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "random.hpp"
#include "small_world.hpp"

#include <store/memory/domain.hpp>
#include <testing/virtual_time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace tenure::simulation
{

/** The parts that worlds of processes share whose links lead to the store inside the process: its time, and how time
 *  passes; the checker looks after every event. */
class LinkedWorld
{
public:
    LinkedWorld(LinkedWorld const&) = delete;
    LinkedWorld& operator=(LinkedWorld const&) = delete;

protected:
    LinkedWorld(std::uint64_t seed, std::uint64_t purpose)
        : seed_(seed)
        , random_(seed, purpose)
    {
    }
    ~LinkedWorld() = default;

    /** One random event. */
    virtual void operate() = 0;
    /** The invariants. */
    virtual void look() = 0;
    /** The end of a world, without faults. */
    virtual void finish() = 0;

    SmallOutcome run_for(int steps)
    {
        for (int step = 0; step < steps && outcome_.violation.empty(); ++step)
            operate();
        if (outcome_.violation.empty())
            finish();
        return outcome_;
    }
    /** Lets several things happen at one instant, too. */
    void look_now_or_later()
    {
        if (random_.below(3) == 0)
            return;
        time_.run_ready();
        look();
    }
    void pass(std::chrono::milliseconds time)
    {
        trace(103);
        auto const end = time_.now() + time;
        time_.run_ready();
        look();
        auto const& timers = time_.state()->timers;
        while (!timers.empty() && timers.begin()->first.first <= end) {
            time_.run_for(timers.begin()->first.first - time_.now());
            look();
        }
        time_.run_for(end - time_.now());
    }
    /** Without faults all that wait are granted, as others give up.
     *  @param waits, give_up  of one worker
     *  @return no process waits */
    template <class Workers, class Waits, class GiveUp>
    bool let_all_be_granted(Workers& workers, Waits const& waits, GiveUp const& give_up)
    {
        for (int round = 0; round < 300 && std::ranges::any_of(workers, waits); ++round) {
            pass(any_time(100));
            for (auto& worker : workers)
                if (random_.below(2) == 0)
                    give_up(worker);
        }
        bool const nobody_waits = std::ranges::none_of(workers, waits);
        for (auto& worker : workers)
            give_up(worker);
        return nobody_waits;
    }
    std::chrono::milliseconds any_time(int most) { return std::chrono::milliseconds(random_.between(0, most)); }
    void trace(std::uint64_t what)
    {
        auto const when = static_cast<std::uint64_t>(time_.now().time_since_epoch().count());
        outcome_.trace = (outcome_.trace ^ when ^ (what << 48U)) * 0x100000001b3U;
    }
    void expect(bool holds, char const* rule)
    {
        if (!holds && outcome_.violation.empty())
            outcome_.violation = rule;
    }

    std::uint64_t seed_;
    Random random_;
    testing::VirtualTime time_;
    std::shared_ptr<memory::Domain> domain_ = memory::Domain::named("");
    /// lives of processes, and what else needs a number
    std::uint64_t count_ = 0;
    SmallOutcome outcome_;
};

} // namespace tenure::simulation
