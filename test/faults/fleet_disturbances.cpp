// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet.hpp"

#include <csignal>
#include <string>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;
using test::Holding;

namespace
{

/// how much longer than G the key of a dead holder may stay taken: its expiry is not announced to waiters
constexpr std::int64_t return_slack = 3'000'000'000;

FaultRecord record(std::string name, pid_t process)
{
    FaultRecord fault;
    fault.name = std::move(name);
    fault.process = process;
    return fault;
}

/** The holdings of a process now. */
std::vector<Holding> held_by(test::Auditor const& auditor, pid_t pid)
{
    auto held = auditor.holdings();
    std::erase_if(held, [pid, now = boottime_ns()](Holding const& one) {
        return one.pid != pid || one.left != 0 || one.valid_until <= now;
    });
    return held;
}

} // namespace

bool Fleet::pause(Attack& attack, bool briefly)
{
    auto* const worker = some_holding_worker();
    if (worker == nullptr)
        return false;
    auto const ttl = setup_.arena.ttl;
    if (briefly)
        stop(*worker, "holder stopped for less than G/3", attack.random.between(ttl / 12, ttl / 4));
    else
        stop(*worker, "holder stopped for more than G", attack.random.between(ttl * 21 / 20, ttl * 2));
    return true;
}

void Fleet::stop(Worker& worker, std::string name, std::chrono::milliseconds time)
{
    // Its loop's stall is in its own testimony: what a short stop may cost is judged there.
    auto const number = ledger_.begin(record(std::move(name), worker.process.pid()));
    worker.process.pause();
    auto const begin = boottime_ns();
    bool const holds = !held_by(auditor_, worker.process.pid()).empty();
    // It goes on while other things happen.
    worker.pause = Pause{begin, begin + std::chrono::nanoseconds{time}.count(), number, holds};
}

void Fleet::kill(Worker& worker, std::string name)
{
    FaultScope const fault{ledger_, record(std::move(name), worker.process.pid())};
    if (worker.pause)
        ledger_.end(std::exchange(worker.pause, std::nullopt)->fault);
    ledger_.killed(worker.process.pid());
    worker.process.kill();
    replace(worker);
}

void Fleet::strike_any()
{
    harasses_at_ = boottime_ns() + std::chrono::nanoseconds{random_.between(500ms, 1200ms)}.count();
    // most processes only wait
    auto* const holding = random_.one_in(2) ? some_holding_worker() : nullptr;
    auto& worker = holding != nullptr ? *holding : workers_[random_.below(workers_.size())];
    if (worker.pause || worker.ending || !worker.process.running())
        return;
    bool const holds = !held_by(auditor_, worker.process.pid()).empty();
    if (random_.one_in(2)) {
        counts_.waiters_stopped += holds ? 0 : 1;
        auto const ttl = setup_.arena.ttl;
        stop(
            worker, holds ? "holder stopped for more than G" : "waiter stopped for more than G",
            random_.between(ttl * 21 / 20, ttl * 3 / 2));
    } else {
        counts_.waiters_killed += holds ? 0 : 1;
        kill(worker, holds ? "holder killed" : "waiter killed");
    }
}

bool Fleet::kill_holder(Attack& attack)
{
    auto* const worker = some_holding_worker();
    if (worker == nullptr)
        return false;
    FaultScope const fault{ledger_, record("holder killed", worker->process.pid())};
    auto const pid = worker->process.pid();
    // Nothing it does can come between the look and its death.
    worker->process.pause();
    auto const held = held_by(auditor_, pid);
    ledger_.killed(pid);
    worker->process.kill();
    auto const killed = boottime_ns();
    replace(*worker);
    wait_for_return(attack, held, killed);
    return true;
}

void Fleet::wait_for_return(Attack& attack, std::vector<Holding> const& left_behind, std::int64_t killed)
{
    auto const limit = killed + setup_.arena.ttl_ns() + return_slack;
    for (auto const& held : left_behind) {
        std::optional<Holding> next;
        while (boottime_ns() < limit) {
            next = auditor_.occupant(held.cell);
            if (next && next->fencing_token != held.fencing_token)
                break;
            attack.wait(2ms);
        }
        auto const key = setup_.arena.key(held.cell);
        if (next && next->fencing_token != held.fencing_token)
            counts_.slowest_return = std::max(counts_.slowest_return, next->entered - killed);
        else if (attack.expiry_delay(killed) > 0)
            ledger_.excuse("L1", "the store keeps keys for longer: a clock set back, or a new leader");
        else
            ledger_.breach("L1", key + ": nobody holds it G and 3 s after its holder was killed");
    }
}

void Fleet::replace(Worker& killed)
{
    ++counts_.kills;
    begin_anew(killed);
}

bool Fleet::kill_any(Attack& attack)
{
    kill(workers_[attack.random.below(workers_.size())], "worker killed");
    return true;
}

bool Fleet::block_loop(Attack& attack)
{
    auto* const worker = some_holding_worker();
    if (worker == nullptr)
        return false;
    FaultScope const fault{ledger_, record("holder's loop blocked for 1.5 G", worker->process.pid())};
    worker->process.signal(SIGUSR1);
    attack.wait(setup_.arena.ttl * 3 / 2);
    return true;
}

bool Fleet::restart_gently(Attack& attack)
{
    auto& worker = workers_[attack.random.below(workers_.size())];
    // a process has no handler of the signal at once
    if (worker.pause || worker.ending || boottime_ns() - worker.started < setup_.arena.ttl_ns())
        return false;
    FaultScope const fault{ledger_, record("worker told to end", worker.process.pid())};
    worker.ending = true;
    worker.process.signal(SIGTERM);
    return true;
}

std::vector<Disturbance> Fleet::disturbances()
{
    return {
        {"holder stopped for more than G", 10, [this](Attack& attack) { return pause(attack, false); }},
        {"holder stopped for less than G/3", 1, [this](Attack& attack) { return pause(attack, true); }},
        {"holder killed", 4, [this](Attack& attack) { return kill_holder(attack); }},
        {"worker killed", 1, [this](Attack& attack) { return kill_any(attack); }},
        {"holder's loop blocked for 1.5 G", 2, [this](Attack& attack) { return block_loop(attack); }},
        {"worker told to end", 1, [this](Attack& attack) { return restart_gently(attack); }}};
}

} // namespace tenure::faults
