// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "checker.hpp"
#include "chronicle.hpp"
#include "layer.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "scheduler.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tenure::simulation
{

/** The outcome of a world. */
struct Outcome {
    Violation violation;
    std::uint64_t trace = 0;
    std::uint64_t events = 0;
    std::uint64_t grants = 0;
    std::uint64_t losses = 0;
    std::uint64_t faults = 0;
};

/** Planted bugs of the simulated store. Bugs of the library are in test/mutants. */
struct StoreMutants {
    bool release_without_compare = false;
    bool fence_by_increment = false;
};

/** Processes, a network, a store, what goes wrong with them, and a checker that watches. Runs one plan after another,
 *  and keeps its memory. */
class World : public Receiver
{
public:
    World();
    ~World() override;

    Outcome run(Plan const& plan);

    [[nodiscard]] Ns now() const noexcept { return scheduler.now(); }
    [[nodiscard]] Plan const& plan() const noexcept { return *plan_; }
    [[nodiscard]] Process& process(ProcessId id) noexcept { return *processes_[id]; }
    [[nodiscard]] Process const& process(ProcessId id) const noexcept { return *processes_[id]; }
    [[nodiscard]] std::uint32_t process_count() const noexcept { return plan_->settings.processes; }

    void on_event(std::uint32_t what, std::uint64_t value) override;

    Scheduler scheduler;
    Chronicle chronicle{scheduler};
    Layer layer;
    Network& network;
    KnownStore& store;
    Checker checker{*this};
    StoreMutants mutants;

    /** Starts the process, unless a fault keeps it down. */
    void restart(ProcessId id);

private:
    enum What : std::uint32_t { fault_begins, fault_ends, all_quiet, restore, restore_former };

    void begin(Plan const& plan);
    void go_on();
    void begin_fault(std::uint32_t index);
    void end_fault(Fault const& fault);
    void fail_over(std::uint32_t snapshot, Ns clock_differs_by);
    /// the snapshot of what the fault's failover left
    [[nodiscard]] std::uint32_t former(std::uint32_t index) const noexcept;

    Plan const* plan_ = nullptr;
    std::vector<std::unique_ptr<Process>> processes_;
    /// how many faults of a kind are going on; per process where they belong to one
    std::array<std::array<int, most_processes>, fault_kinds> going_on_{};
    std::uint64_t faults_ = 0;
};

} // namespace tenure::simulation
