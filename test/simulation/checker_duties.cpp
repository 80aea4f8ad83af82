// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The duties of the library: some are due at once, others within a limit.
#include "checker.hpp"

#include "world.hpp"

#include <algorithm>

namespace tenure::simulation
{

namespace
{

constexpr Ns sweep_every = 100 * millisecond;
/// the longest pause between two attempts of anything, and what a round trip takes
constexpr Ns longest_pause = 1300 * millisecond;
/// of the store's clock: what it held is then held longer
constexpr Ns largest_jump_back = 2 * second;
/// a claim that follows the news so soon follows from it: holding back takes fifty times as long
constexpr Ns hasty = 200 * microsecond;
/// a poll may fall into this time by chance, but not more often than this in a row
constexpr unsigned most_hasty_claims = 3;
/// a waiter that holds back does so no longer than this, and then sends its claim
constexpr Ns longest_courtesy = 500 * millisecond + 60 * millisecond;
/// a claim that stays without an answer is followed by another one after this, and then after twice as long each time
constexpr Ns longest_patience(unsigned unanswered)
{
    return std::min(second << std::min(unanswered, 5U), 30 * second) * 101 / 100;
}
/// beyond the end of a wait, for an answer on its way and timers that are late
constexpr Ns end_slack = 60 * millisecond;

} // namespace

Ns Checker::last_trouble(Process const& process) const
{
    if (world_.network.troubled(process.id()) || world_.store.refuses)
        return world_.now();
    return std::max({process.last_trouble(), world_.network.last_trouble(process.id()), world_.store.last_trouble});
}

Checker::Waiting& Checker::waiting(Process const& process, RangeId range)
{
    return waiting_[process.id()][static_cast<std::size_t>(range)];
}

Ns Checker::longest_ttl() const
{
    return std::max(4 * second, *std::ranges::max_element(world_.plan().settings.ttl));
}

bool Checker::done(Duty const& duty) const
{
    switch (duty.rule) {
    case Rule::s5:
        return duty.holding->fired || duty.holding->released;
    case Rule::s6:
        return duty.holding->told;
    case Rule::s9:
        return !duty.worker->waiting() || duty.worker->turn() != duty.turn;
    default:
        return !duty.worker->waiting() || duty.worker->turn() != duty.turn ||
               world_.process(duty.process).access().claiming(duty.range) ||
               waiting_[duty.process][static_cast<std::size_t>(duty.range)].last_claim >= duty.since;
    }
}

void Checker::nothing_ready()
{
    if (!duties_.empty()) {
        std::erase_if(duties_, [this](Duty const& duty) {
            auto const& process = world_.process(duty.process);
            if (process.stands_still())
                return false;
            if (process.life() == duty.life && !done(duty))
                violate(
                    duty.rule, "process " + std::to_string(duty.process) + ": " +
                                   std::string(
                                       duty.rule == Rule::s5   ? "a proven loss did not fire the token"
                                       : duty.rule == Rule::s6 ? "the token of a released lease says nothing"
                                       : duty.rule == Rule::s9 ? "a cancelled acquisition goes on"
                                                               : "a hint arrived, and whoever waits does not ask"));
            return true;
        });
    }
    if (world_.now() >= next_sweep_) {
        next_sweep_ = world_.now() + sweep_every;
        sweep();
    }
}

void Checker::sweep()
{
    look_for_leftovers();
    look_at_waiters();
    look_at_lines();
}

void Checker::look_for_leftovers()
{
    for (KeyId id = 0; id < key_count; ++id) {
        auto const& key = world_.store.key(id);
        if (!world_.store.held(id)) {
            if (free_since_[id] == 0)
                free_since_[id] = world_.now();
            continue;
        }
        free_since_[id] = 0;
        if (world_.store.resting(id)) {
            look_at_rest(id);
            continue;
        }
        if (key.process == KnownStore::no_process)
            continue;
        auto& process = world_.process(key.process);
        auto const now = world_.now();
        if (!process.alive() || process.life() != key.life || process.stopping()) {
            auto const died = process.died_at();
            auto const longest = longest_ttl() + world_.store.rest_of(id);
            if (!key.late && std::min(now - died, now - key.written) > longest + longest_pause &&
                world_.store.last_trouble + longest + largest_jump_back < now)
                violate(
                    Rule::s13, "a process died or stopped, and key " + std::to_string(id) + " is held beyond its ttl");
            continue;
        }
        // its release was given up when the lease had expired: it rests under its owner's name
        if (justified_[key.owner].handed_out && world_.store.owned_until(id) < now)
            continue;
        // a second key of a claim without an answer goes with the lease, or expires
        bool const held = std::ranges::any_of(
            holdings_, [&](Holding const* one) { return one->owner == key.owner && !one->released; });
        if (held || key.late || process.stands_still() || process.access().asking(key.owner))
            continue;
        auto const since = std::max({key.written, justified_[key.owner].last_asked, last_trouble(process)});
        if (now - since > longest_pause)
            violate(
                Rule::s9, "key " + std::to_string(id) + " is held in the store by owner " +
                              std::to_string(key.owner % 10'000) + " of process " + std::to_string(process.id()) +
                              ", and nobody gives it back");
    }
}

void Checker::look_at_rest(KeyId id)
{
    auto const now = world_.now();
    auto const& key = world_.store.key(id);
    auto const rest = key.kept_after != 0 ? longest_kept : world_.store.rest_of(id);
    if (!key.late && now - key.written > rest + rest / 100 + sweep_every &&
        world_.store.last_trouble + rest + largest_jump_back < now)
        violate(Rule::l1, "key " + std::to_string(id) + " rests longer than its quarantine");
}

void Checker::look_at_waiters()
{
    for (ProcessId id = 0; id < world_.process_count(); ++id) {
        auto& process = world_.process(id);
        if (!process.alive() || process.stands_still())
            continue;
        for (auto const& worker : process.workers())
            if (worker.waiting())
                look_at_waiter(process, worker);
    }
}

void Checker::look_at_waiter(Process& process, Worker const& worker)
{
    auto const now = world_.now();
    auto const since = std::max(worker.asked_at(), process.last_trouble());
    // a timer of a slow clock, and one that was late; and its wait may have begun only when its process went on
    auto const allowed = (worker.must_end_at() - worker.asked_at()) / 100 + end_slack;
    if (now > worker.must_end_at() + (since - worker.asked_at()) + allowed)
        violate(
            Rule::l1, "an acquisition of " + std::string(name_of(worker.range())) + " by process " +
                          std::to_string(process.id()) + " goes on beyond the end of its wait");
    if (!worker.patient())
        return;
    auto const range = worker.range();
    auto const quiet = std::max(since, waiting(process, range).last_claim);
    if (!process.access().claiming(range) && now - quiet > longest_pause)
        violate(
            Rule::l1, "nobody of process " + std::to_string(process.id()) + " asks for " + std::string(name_of(range)) +
                          ", and somebody waits");
    // one that has not claimed yet may hold back for another reason
    auto const& waits = waiting(process, range);
    if (auto const heard = waits.yields_since; heard > worker.asked_at() && waits.last_claim > worker.asked_at() &&
                                               heard > last_trouble(process) && !process.access().claiming(range) &&
                                               now - heard > longest_courtesy)
        violate(
            Rule::l1, "process " + std::to_string(process.id()) + " let others go first at " +
                          std::string(name_of(range)) + ", and asks no more");
    // the claim may have been lost with its connection
    if (process.access().claiming(range) && now < waits.patient_until)
        return;
    auto const slots = range == RangeId::slots ? world_.plan().settings.slots : 1;
    for (std::uint32_t index = 0; index < slots; ++index)
        if (auto const free = free_since_[key_of(range, index)];
            free != 0 && now - std::max({free, since, last_trouble(process)}) > 2 * longest_pause)
            violate(
                Rule::l1, "key " + std::to_string(key_of(range, index)) + " is free, and process " +
                              std::to_string(process.id()) + " waits for it");
}

void Checker::look_at_lines()
{
    for (std::size_t number = 0; number < range_count; ++number) {
        auto const range = static_cast<RangeId>(number);
        for (auto const& place : world_.store.line(range)) {
            auto& process = world_.process(place.process);
            if (!process.alive() || process.life() != place.life || process.stopping() || process.stands_still())
                continue;
            // it may have left, and the message was lost, or it had no connection yet on which to say so
            if (place.late || last_trouble(process) + longest_pause >= place.joined || process.access().claiming(range))
                continue;
            bool const waits = std::ranges::any_of(
                process.workers(), [&](Worker const& one) { return one.waiting() && one.range() == range; });
            if (!waits && world_.now() - std::max(place.joined, waiting(process, range).last_claim) > longest_pause)
                violate(
                    Rule::l1, "process " + std::to_string(process.id()) + " stands in line for " +
                                  std::string(name_of(range)) + ", and nobody there waits for it");
        }
    }
}

Worker* Checker::listener(Process& process, RangeId range) const
{
    // one whose claim has failed pauses, and does not listen meanwhile
    for (auto& worker : process.workers())
        if (worker.waiting() && worker.patient() && worker.range() == range && worker.asked_at() < world_.now() &&
            last_trouble(process) < worker.asked_at())
            return &worker;
    return nullptr;
}

void Checker::hinted(Process& process, RangeId range)
{
    auto& waits = waiting(process, range);
    waits.allowance += 1;
    need_not_hold_back(waits);
    if (auto* const worker = listener(process, range))
        duties_.push_back(
            {Rule::l1, process.id(), process.life(), range, worker->turn(), worker, nullptr, world_.now()});
}

void Checker::others_named(Process& process, RangeId range, NamedBy by)
{
    auto& waits = waiting(process, range);
    waits.allowance += 1;
    // a waiter holds back for longer each time that others are named, until its poll
    if (waits.yields_since != 0)
        waits.yields_since = world_.now();
    if (listener(process, range) == nullptr)
        return;
    // a pending claim may be a worker's first one, which does not know of others before its answer. The engine also
    // ignores a second answer to a release
    if (by == NamedBy::another && !process.access().claiming(range))
        waits.yields_since = world_.now();
    auto& courtesy = waits.courtesy.at(static_cast<std::size_t>(by));
    if (courtesy.told != 0 && !courtesy.hasty)
        courtesy.in_a_row = 0;
    courtesy.told = world_.now();
    courtesy.hasty = false;
}

void Checker::need_not_hold_back(Waiting& waits) noexcept
{
    for (auto& courtesy : waits.courtesy)
        courtesy.told = 0;
}

void Checker::claims(Process& process, Message const& message)
{
    auto const range = message.range;
    auto& waits = waiting(process, range);
    auto const now = world_.now();
    constexpr double a_second = 60;
    waits.allowance =
        std::min(a_second, waits.allowance + a_second * static_cast<double>(now - waits.counted) / second) - 1;
    waits.counted = now;
    waits.last_claim = now;
    waits.yields_since = 0;
    auto const patient_until = now + longest_patience(process.access().claims_of(message.owner));
    waits.patient_until =
        process.access().claiming(range) ? std::max(waits.patient_until, patient_until) : patient_until;
    if (waits.allowance < -a_second)
        violate(
            Rule::l4,
            "process " + std::to_string(process.id()) + " asks for " + std::string(name_of(range)) + " without pause");
    for (auto& courtesy : waits.courtesy) {
        if (courtesy.told == 0 || courtesy.hasty || now - courtesy.told >= hasty)
            continue;
        courtesy.hasty = true;
        if (++courtesy.in_a_row > most_hasty_claims)
            violate(
                Rule::l4, "process " + std::to_string(process.id()) + " asks for " + std::string(name_of(range)) +
                              " whenever others are named");
    }
}

void Checker::slowed(Process const& process)
{
    slowed_[process.id()] = world_.now();
}

void Checker::told_unknown_script(Process& process, std::uint64_t script, Ns written)
{
    slowed(process);
    // requests under way meanwhile knew nothing of it, and the text that follows may be lost with its connection
    constexpr unsigned most = 3;
    auto& unknown = unknown_scripts_[{process.id(), script}];
    if (unknown.told != 0 && written < unknown.told + second)
        return;
    if (unknown.told != 0 && ++unknown.again > most)
        violate(
            Rule::l4, "process " + std::to_string(process.id()) +
                          " calls a script by its name again and again, and never makes it known");
    unknown.told = world_.now();
}

void Checker::judge_loss(Process& process, Holding const& holding)
{
    auto const reason = holding.token.reason();
    auto const& settings = world_.plan().settings;
    auto const now = world_.now();
    auto const held = now - holding.answered;
    switch (reason) {
    case CancelReason::none:
    case CancelReason::released:
    case CancelReason::detached:
    case CancelReason::rebalanced:
        violate(Rule::s6, "a token fired without a reason");
        break;
    case CancelReason::max_hold:
        if (holding.range != RangeId::plain || held < settings.max_hold * 99 / 100)
            violate(Rule::l2, "a lease was ended by max_hold before its time");
        break;
    case CancelReason::first_failed_renewal:
        if (holding.range != RangeId::plain || !settings.fire_on_first_failure)
            violate(Rule::l2, "a failed renewal ended a lease that should have outlived it");
        else if (std::max(last_trouble(process), slowed_[process.id()]) < holding.granted - second)
            violate(Rule::l2, "a lease was ended by a failed renewal, and none had failed");
        break;
    case CancelReason::not_owner:
        // a claim that was under way may have taken anew what the store had lost
        if (auto const& key = world_.store.key(holding.key);
            world_.store.last_trouble < holding.answered && world_.store.held(holding.key) &&
            key.owner == holding.owner && key.taken <= holding.answered)
            violate(Rule::l2, "a lease was ended as lost, and the store still has it");
        break;
    case CancelReason::expired: {
        // within half a ttl in which nothing was wrong, some renewal has to succeed
        auto const ttl = holding.resized ? longest_ttl() : settings.ttl.at(static_cast<std::size_t>(holding.range));
        if (now - std::max(last_trouble(process), holding.granted) > ttl / 2 + 2 * settings.noise.longest_delay)
            violate(Rule::l2, "a lease expired, and nothing had been wrong for half of its ttl");
        break;
    }
    case CancelReason::store_closed:
        violate(Rule::s14, "a store closed while a lease was held");
        break;
    }
}

} // namespace tenure::simulation
