// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "scheduler.hpp"

#include <algorithm>
#include <utility>

namespace tenure::simulation
{

void Scheduler::begin(std::uint64_t seed)
{
    now_ = 0;
    numbers_ = 0;
    steps_ = 0;
    trace_ = 0xcbf29ce484222325U;
    random_ = Random(seed, 1);
    events_.clear();
    for (ProcessId process = 0; process < most_processes; ++process) {
        discard(process);
        lanes_[process].held = false;
        lanes_[process].pieces = 0;
    }
}

void Scheduler::at(Ns when, Receiver& receiver, std::uint32_t what, std::uint64_t value)
{
    events_.push_back({std::max(when, now_), ++numbers_, &receiver, value, what});
    std::ranges::push_heap(events_, Later{});
}

void Scheduler::post(ProcessId process, Work work)
{
    lanes_[process].ready.push_back(std::move(work));
}

void Scheduler::hold_after(ProcessId process, std::uint32_t pieces) noexcept
{
    auto& lane = lanes_[process];
    lane.pieces = pieces;
    lane.held = lane.held || pieces == 0;
}

void Scheduler::let_run(ProcessId process) noexcept
{
    lanes_[process].held = false;
    lanes_[process].pieces = 0;
}

void Scheduler::discard(ProcessId process) noexcept
{
    auto& ready = lanes_[process].ready;
    while (!ready.empty()) {
        auto const work = std::move(ready.back());
        ready.pop_back();
    }
}

bool Scheduler::anything_ready() const noexcept
{
    return std::ranges::any_of(lanes_, [](Lane const& lane) { return !lane.held && !lane.ready.empty(); });
}

bool Scheduler::run_ready()
{
    std::size_t count = 0;
    for (auto const& lane : lanes_)
        if (!lane.held)
            count += lane.ready.size();
    if (count == 0)
        return false;
    std::size_t chosen = count == 1 ? 0 : random_.below(static_cast<std::uint32_t>(count));
    for (ProcessId process = 0; process < most_processes; ++process) {
        auto& lane = lanes_[process];
        if (lane.held)
            continue;
        if (chosen >= lane.ready.size()) {
            chosen -= lane.ready.size();
            continue;
        }
        auto work = std::move(lane.ready[chosen]);
        if (chosen + 1 != lane.ready.size())
            lane.ready[chosen] = std::move(lane.ready.back());
        lane.ready.pop_back();
        if (lane.pieces > 0 && --lane.pieces == 0)
            lane.held = true;
        ++steps_;
        trace(static_cast<std::uint64_t>(now_) ^ (std::uint64_t{process} << 56U) ^ (chosen << 48U));
        work.run();
        return true;
    }
    return false;
}

bool Scheduler::advance()
{
    if (events_.empty())
        return false;
    std::ranges::pop_heap(events_, Later{});
    auto const event = events_.back();
    events_.pop_back();
    now_ = event.when;
    ++steps_;
    trace(static_cast<std::uint64_t>(now_) ^ (std::uint64_t{event.what} << 52U));
    event.receiver->on_event(event.what, event.value);
    return true;
}

} // namespace tenure::simulation
