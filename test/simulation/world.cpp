// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "world.hpp"

#include "worker.hpp"

#include <algorithm>
#include <exception>

namespace tenure::simulation
{

namespace
{

/// machines are this much too fast or too slow at most: half of what the engine allows for, twice
constexpr std::int64_t largest_drift = 4900;

LocalClock make_clock(Random& random)
{
    // extremes find more than averages
    auto const kind = random.below(4);
    auto const drift = kind == 0   ? largest_drift
                       : kind == 1 ? -largest_drift
                                   : random.between(-largest_drift, largest_drift);
    return {random.between(second, 1'000'000 * second), drift};
}

} // namespace

World::World()
    : layer(make_layer(*this))
    , network(*layer.network)
    , store(*layer.store)
{
    for (ProcessId id = 0; id < most_processes; ++id)
        processes_.push_back(std::make_unique<Process>(*this, id));
}

World::~World()
{
    for (auto const& process : processes_)
        process->end();
}

void World::begin(Plan const& plan)
{
    plan_ = &plan;
    scheduler.begin(plan.seed);
    chronicle.begin();
    checker.begin();
    network.begin(plan.seed, plan.settings.noise);
    going_on_ = {};
    faults_ = 0;
    Random random(plan.seed, 4);
    // of each fault the state that a failover goes back to, and the one that it leaves
    store.begin(plan.settings, make_clock(random), 2 * plan.faults.size());
    for (ProcessId id = 0; id < plan.settings.processes; ++id)
        process(id).begin(plan.seed, make_clock(random));
    for (std::uint32_t index = 0; index < plan.faults.size(); ++index)
        scheduler.at(plan.faults[index].at, *this, fault_begins, index);
    scheduler.at(plan.quiet_from, *this, all_quiet, 0);
}

Outcome World::run(Plan const& plan)
{
    begin(plan);
    try {
        go_on();
    } catch (std::exception const& error) {
        checker.violate(Rule::s14, std::string("an exception came out of the library: ") + error.what());
    }
    for (auto const& process : processes_)
        process->end();
    return {checker.violation(), scheduler.trace(), scheduler.steps(), checker.grants, checker.losses, faults_};
}

void World::go_on()
{
    Random random(plan_->seed, 5);
    auto const hiccup = plan_->settings.noise.hiccup;
    while (!checker.violated()) {
        if (scheduler.anything_ready()) {
            try {
                scheduler.run_ready();
            } catch (UserError const&) {
                // exceptions of users' code come out of the event loop, which goes on
            }
            checker.look();
            if (hiccup > 0 && random.chance(hiccup))
                process(random.below(process_count())).stand_still(random.between(0, 5 * millisecond));
        } else {
            checker.nothing_ready();
            if (checker.violated() || scheduler.next() > plan_->end || !scheduler.advance())
                return;
            checker.look();
        }
    }
}

void World::on_event(std::uint32_t what, std::uint64_t value)
{
    switch (what) {
    case fault_begins:
        begin_fault(static_cast<std::uint32_t>(value));
        break;
    case fault_ends:
        end_fault(plan_->faults[value]);
        break;
    case restore: {
        auto const& fault = plan_->faults[value];
        auto const index = static_cast<std::uint32_t>(value);
        if (fault.kind == FaultKind::failback) {
            store.remember(former(index));
            scheduler.at(now() + fault.length, *this, restore_former, value);
        }
        fail_over(index, fault.number);
        break;
    }
    case restore_former:
        fail_over(former(static_cast<std::uint32_t>(value)), -plan_->faults[value].number);
        break;
    default:
        network.calm_down();
    }
}

std::uint32_t World::former(std::uint32_t index) const noexcept
{
    return index + static_cast<std::uint32_t>(plan_->faults.size());
}

void World::fail_over(std::uint32_t snapshot, Ns clock_differs_by)
{
    store.last_trouble = now();
    store.go_back_to(snapshot, clock_differs_by);
    for (ProcessId id = 0; id < process_count(); ++id)
        process(id).access().cut();
}

void World::begin_fault(std::uint32_t index)
{
    auto const& fault = plan_->faults[index];
    ++faults_;
    chronicle.write(Note::fault, fault.process, static_cast<std::uint8_t>(fault.kind), 0, index);
    auto& struck = process(fault.process);
    auto const& path = network.path(fault.process);
    ++going_on_[static_cast<std::size_t>(fault.kind)][fault.process];
    switch (fault.kind) {
    case FaultKind::pause:
        if (struck.alive())
            struck.stand_still(fault.length);
        return;
    case FaultKind::kill:
        struck.die();
        break;
    case FaultKind::stop:
        struck.stop();
        break;
    case FaultKind::partition:
    case FaultKind::deaf:
    case FaultKind::mute:
        network.set_path(
            fault.process, path.mute || fault.kind != FaultKind::deaf, path.deaf || fault.kind != FaultKind::mute);
        break;
    case FaultKind::reset:
        struck.access().cut();
        return;
    case FaultKind::slow:
        network.slow(true);
        break;
    case FaultKind::store_pause:
        network.store_stops(false);
        break;
    case FaultKind::store_restart:
    case FaultKind::store_loss:
        network.store_stops(true);
        if (fault.kind == FaultKind::store_loss)
            store.lose_everything();
        for (ProcessId id = 0; id < process_count(); ++id)
            process(id).access().cut();
        break;
    case FaultKind::failover:
    case FaultKind::failback:
        store.remember(index);
        scheduler.at(now() + fault.length, *this, restore, index);
        return;
    case FaultKind::clock_jump:
        store.last_trouble = now();
        store.jump(fault.number);
        return;
    case FaultKind::refusal:
        store.refuse(true);
        store.last_trouble = now();
        break;
    case FaultKind::overwrite:
        store.last_trouble = now();
        store.overwrite(static_cast<KeyId>(fault.number), "somebody else", 2 * second);
        return;
    case FaultKind::removal:
        store.last_trouble = now();
        store.remove(static_cast<KeyId>(fault.number));
        return;
    case FaultKind::silence:
    case FaultKind::hang_up:
    case FaultKind::transaction_cut:
        network.strike(fault);
        return;
    case FaultKind::spoiled_counter:
        store.last_trouble = now();
        store.spoil_counter(fault.number == 1, fault.length);
        return;
    case FaultKind::lost_lines:
        store.lose_lines(fault.length);
        return;
    case FaultKind::flush:
        store.last_trouble = now();
        store.lose_everything();
        return;
    case FaultKind::script_flush:
        store.forget_scripts();
        return;
    }
    scheduler.at(now() + fault.length, *this, fault_ends, index);
}

void World::restart(ProcessId id)
{
    for (auto const kind : {FaultKind::kill, FaultKind::stop})
        if (going_on_[static_cast<std::size_t>(kind)][id] > 0)
            return;
    process(id).start();
}

void World::end_fault(Fault const& fault)
{
    --going_on_[static_cast<std::size_t>(fault.kind)][fault.process];
    auto const goes_on = [&](FaultKind kind) { return going_on_[static_cast<std::size_t>(kind)][fault.process] > 0; };
    auto const anywhere = [&](FaultKind kind) {
        return std::ranges::any_of(going_on_[static_cast<std::size_t>(kind)], [](int count) { return count > 0; });
    };
    chronicle.write(Note::fault_ends, fault.process, static_cast<std::uint8_t>(fault.kind));
    switch (fault.kind) {
    case FaultKind::kill:
    case FaultKind::stop:
        restart(fault.process);
        break;
    case FaultKind::partition:
    case FaultKind::deaf:
    case FaultKind::mute:
        network.set_path(
            fault.process, goes_on(FaultKind::partition) || goes_on(FaultKind::mute),
            goes_on(FaultKind::partition) || goes_on(FaultKind::deaf));
        break;
    case FaultKind::slow:
        network.slow(anywhere(FaultKind::slow));
        break;
    case FaultKind::store_pause:
    case FaultKind::store_restart:
    case FaultKind::store_loss:
        if (!anywhere(FaultKind::store_pause) && !anywhere(FaultKind::store_restart) &&
            !anywhere(FaultKind::store_loss))
            network.store_goes_on();
        break;
    case FaultKind::refusal:
        store.refuse(anywhere(FaultKind::refusal));
        store.last_trouble = now();
        break;
    default:
        break;
    }
}

} // namespace tenure::simulation
