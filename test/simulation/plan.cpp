// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "plan.hpp"

#include "random.hpp"

#include <algorithm>
#include <array>

namespace tenure::simulation
{

namespace
{

Settings make_settings(Random& random)
{
    constexpr std::array ttls{
        1000 * millisecond, 1500 * millisecond, 2000 * millisecond, 3000 * millisecond, 4000 * millisecond};
    Settings settings;
    settings.processes = 2 + random.below(2);
    settings.workers = 1 + random.below(3);
    settings.slots = 1 + random.below(most_slots);
    for (auto& ttl : settings.ttl)
        ttl = ttls.at(random.below(ttls.size()));
    auto& noise = settings.noise;
    constexpr std::array<std::uint32_t, 4> drops{0, 20, 100, 500};
    noise.drop = drops.at(random.below(drops.size()));
    noise.repeat = random.below(2) == 0 ? 0 : 100;
    noise.hiccup = random.below(2) == 0 ? 0 : 50;
    noise.late_timer = random.below(2) == 0 ? 0 : 1000;
    if (random.below(3) == 0) {
        noise.shortest_delay = 5 * millisecond;
        noise.longest_delay = 40 * millisecond;
    }
    settings.hints = random.below(8) != 0;
    settings.resizes = random.below(3) == 0;
    settings.max_hold = random.below(4) == 0 ? 1500 * millisecond : 0;
    settings.fire_on_first_failure = random.below(4) == 0;
    return settings;
}

Ns length_of(FaultKind kind, Random& random, Ns ttl)
{
    auto const upto = [&](Ns longest) { return random.between(millisecond, longest); };
    switch (kind) {
    case FaultKind::pause:
        return random.below(3) == 0 ? upto(ttl / 3) : upto(ttl * 5 / 2);
    case FaultKind::kill:
        return upto(3 * second);
    case FaultKind::stop:
        return shutdown_time + upto(3 * second);
    case FaultKind::partition:
    case FaultKind::deaf:
    case FaultKind::mute:
        return random.below(3) == 0 ? upto(ttl / 3) : upto(ttl * 2);
    case FaultKind::slow:
        return upto(4 * second);
    case FaultKind::store_pause:
    case FaultKind::store_restart:
    case FaultKind::store_loss:
    case FaultKind::refusal:
        return random.below(2) == 0 ? upto(ttl / 3) : upto(ttl * 2);
    case FaultKind::failover:
        return upto(1500 * millisecond);
    case FaultKind::reset:
    case FaultKind::clock_jump:
    case FaultKind::overwrite:
    case FaultKind::removal:
    case FaultKind::silence:
    case FaultKind::hang_up:
    case FaultKind::script_flush:
    case FaultKind::transaction_cut:
    case FaultKind::spoiled_counter:
    case FaultKind::lost_lines:
    case FaultKind::flush:
    case FaultKind::failback:
        break;
    }
    return 0;
}

std::int64_t number_of(FaultKind kind, Random& random, Settings const& settings)
{
    switch (kind) {
    case FaultKind::overwrite:
    case FaultKind::removal:
        return random.below(2 + settings.slots);
    case FaultKind::failover:
        return random.between(-50 * millisecond, 50 * millisecond);
    case FaultKind::clock_jump:
        return random.between(-2 * second, 4 * second);
    default:
        return 0;
    }
}

} // namespace

Plan make_plan(std::uint64_t seed)
{
    Random random(seed, 2);
    Plan plan;
    plan.seed = seed;
    plan.settings = make_settings(random);
    constexpr std::array rests{0 * millisecond, 500 * millisecond, 3 * second};
    plan.settings.reuse_after = rests.at(Random(seed, 4).below(rests.size()));
    auto const ttl = *std::ranges::max_element(plan.settings.ttl);
    // faults that break the store itself come less often than faults that a lease has to survive
    constexpr std::array<FaultKind, 26> kinds{
        FaultKind::pause,       FaultKind::pause,         FaultKind::pause,      FaultKind::kill,
        FaultKind::kill,        FaultKind::partition,     FaultKind::partition,  FaultKind::deaf,
        FaultKind::deaf,        FaultKind::mute,          FaultKind::mute,       FaultKind::reset,
        FaultKind::reset,       FaultKind::slow,          FaultKind::slow,       FaultKind::store_pause,
        FaultKind::store_pause, FaultKind::store_restart, FaultKind::store_loss, FaultKind::failover,
        FaultKind::clock_jump,  FaultKind::refusal,       FaultKind::overwrite,  FaultKind::removal,
        FaultKind::stop,        FaultKind::stop};
    Ns const pause = random.below(4) == 0 ? 8 * second : 3 * second;
    for (Ns at = random.between(0, pause); at < plan.quiet_from; at += random.between(100 * millisecond, 2 * pause)) {
        Fault fault;
        fault.at = at;
        fault.kind = kinds.at(random.below(kinds.size()));
        fault.process = random.below(plan.settings.processes);
        fault.length = std::min(length_of(fault.kind, random, ttl), plan.quiet_from - at);
        fault.number = number_of(fault.kind, random, plan.settings);
        plan.faults.push_back(fault);
    }
    return plan;
}

std::string_view name_of(FaultKind kind) noexcept
{
    constexpr std::array<std::string_view, fault_kinds> names{
        "pause",
        "kill",
        "stop",
        "partition",
        "deaf",
        "mute",
        "reset",
        "slow",
        "store pause",
        "store restart",
        "store loss",
        "failover",
        "clock jump",
        "refusal",
        "overwrite",
        "removal",
        "silence",
        "hang up",
        "script flush",
        "cut in a transaction",
        "spoiled counter",
        "lost lines",
        "flush",
        "failback"};
    return names.at(static_cast<std::size_t>(kind));
}

namespace
{

std::string seconds(Ns time)
{
    auto const micros = time / microsecond;
    auto text = std::to_string(micros % 1'000'000);
    return std::to_string(micros / 1'000'000) + "." + std::string(6 - text.size(), '0') + text + " s";
}

} // namespace

std::string describe(Fault const& fault)
{
    auto text = "at " + seconds(fault.at) + " " + std::string(name_of(fault.kind));
    switch (fault.kind) {
    case FaultKind::overwrite:
    case FaultKind::removal:
        return text + " of key " + std::to_string(fault.number);
    case FaultKind::clock_jump:
        return text + " by " + std::to_string(fault.number / millisecond) + " ms";
    case FaultKind::reset:
    case FaultKind::silence:
    case FaultKind::hang_up:
    case FaultKind::transaction_cut:
        return text + " of process " + std::to_string(fault.process);
    case FaultKind::script_flush:
    case FaultKind::flush:
        return text;
    case FaultKind::spoiled_counter:
        return text + (fault.number == 1 ? " by a list" : " by a word") + " for " +
               std::to_string(fault.length / millisecond) + " ms";
    case FaultKind::lost_lines:
        return fault.length == 0 ? text : text + ": words for " + std::to_string(fault.length / millisecond) + " ms";
    case FaultKind::failover:
    case FaultKind::failback:
        return text + " back by " + std::to_string(fault.length / millisecond) + " ms, clock off by " +
               std::to_string(fault.number / millisecond) + " ms";
    case FaultKind::slow:
    case FaultKind::store_pause:
    case FaultKind::store_restart:
    case FaultKind::store_loss:
    case FaultKind::refusal:
        return text + " for " + std::to_string(fault.length / millisecond) + " ms";
    default:
        return text + " of process " + std::to_string(fault.process) + " for " +
               std::to_string(fault.length / millisecond) + " ms";
    }
}

std::string describe(Plan const& plan)
{
    auto const& settings = plan.settings;
    auto const number = [](auto value) { return std::to_string(value); };
    auto text = "seed " + number(plan.seed) + ": " + number(settings.processes) + " processes of " +
                number(settings.workers) + " workers, " + number(settings.slots) + " slots, ttl of job " +
                number(settings.ttl[0] / millisecond) + ", plain " + number(settings.ttl[1] / millisecond) +
                ", slots " + number(settings.ttl[2] / millisecond) + " ms, quarantine " +
                number(settings.reuse_after / millisecond) + " ms, delays up to " +
                number(settings.noise.longest_delay / millisecond) + " ms, " + number(settings.noise.drop) +
                " of 10,000 messages lost, " + number(settings.noise.repeat) + " repeated, " +
                (settings.hints ? "hints" : "no hints") + (settings.resizes ? ", ttls that change" : "") +
                (settings.max_hold != 0 ? ", max_hold" : "") +
                (settings.fire_on_first_failure ? ", cancel_when first failure" : "") + settings.more + "\n";
    for (auto const& fault : plan.faults)
        text += "  " + describe(fault) + "\n";
    return text;
}

} // namespace tenure::simulation
