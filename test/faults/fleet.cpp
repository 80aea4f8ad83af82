// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "fleet.hpp"

#include "harness/immovable.hpp"

#include <algorithm>
#include <csignal>
#include <sstream>
#include <utility>

namespace tenure::faults
{

using namespace std::chrono_literals;
using test::boottime_ns;
using test::ChildProcess;
using test::Holding;

Fleet::Fleet(Setup setup, test::Auditor const& auditor, Ledger& ledger)
    : setup_(std::move(setup))
    , auditor_(auditor)
    , ledger_(ledger)
    , random_(setup_.seed)
{
    for (std::size_t number = 0; number < setup_.urls.size(); ++number)
        workers_.push_back(Worker{start(number)});
}

ChildProcess Fleet::start(std::size_t number)
{
    auto const& arena = setup_.arena;
    test::Command command;
    command.arguments = {
        setup_.program,
        setup_.urls[number],
        setup_.audit,
        setup_.testimony,
        setup_.register_socket,
        std::to_string(arena.slots),
        std::to_string(arena.locks),
        std::to_string(arena.ttl.count()),
        std::to_string(setup_.tasks),
        std::to_string(setup_.seed * 100'000 + ++started_)};
    if (auto work = setup_.shares) {
        work->number = static_cast<unsigned>(number);
        command.arguments.push_back(work->text());
    } else {
        command.arguments.emplace_back("-");
    }
    if (setup_.mutant != "none")
        command.arguments.push_back(setup_.mutant);
    command.output = setup_.output;
    return ChildProcess{command};
}

void Fleet::begin_anew(Worker& worker)
{
    worker.process = start(static_cast<std::size_t>(&worker - workers_.data()));
    worker.started = boottime_ns();
    worker.ending = false;
}

void Fleet::turn()
{
    auto const now = boottime_ns();
    if (harasses_at_ && *harasses_at_ <= now)
        strike_any();
    for (std::size_t number = 0; number < workers_.size(); ++number) {
        auto& worker = workers_[number];
        if (worker.pause && worker.pause->until <= now)
            resume(worker);
        if (worker.process.running())
            continue;
        auto const status = worker.process.wait_for(0ms).value_or(test::ExitStatus{});
        if (status != test::ExitStatus{0, 0} || !worker.ending) {
            std::ostringstream text;
            text << "worker " << number << " ended by itself: " << status;
            ledger_.breach("S14", text.str());
        }
        begin_anew(worker);
    }
}

void Fleet::resume(Worker& worker)
{
    auto const pause = std::exchange(worker.pause, std::nullopt);
    if (!pause)
        return;
    // Counted before it goes on: afterwards anything may happen between two looks at the clock.
    if (pause->holder && boottime_ns() - pause->begin > setup_.arena.ttl_ns())
        ++counts_.long_pauses;
    worker.process.resume();
    ledger_.end(pause->fault);
}

void Fleet::resume_all()
{
    harasses_at_.reset();
    for (auto& worker : workers_)
        resume(worker);
}

void Fleet::end(std::chrono::milliseconds limit)
{
    resume_all();
    for (auto& worker : workers_)
        worker.process.signal(SIGTERM);
    auto const deadline = std::chrono::steady_clock::now() + limit;
    for (std::size_t number = 0; number < workers_.size(); ++number) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        auto const status = workers_[number].process.wait_for(std::max(left, 0ms));
        if (status == test::ExitStatus{0, 0})
            continue;
        std::ostringstream text;
        text << "worker " << number << " was told to end: " << status.value_or(test::ExitStatus{});
        ledger_.breach("S14", text.str());
    }
    workers_.clear();
}

std::optional<std::uint64_t> Fleet::holder_of(std::uint32_t cell) const
{
    auto const occupant = auditor_.occupant(cell);
    if (!occupant || occupant->valid_until <= boottime_ns())
        return std::nullopt;
    return occupant->fencing_token;
}

std::vector<Holding> Fleet::holders()
{
    std::vector<Holding> all;
    for (std::uint32_t cell = 0; cell < setup_.arena.cells(); ++cell) {
        auto const occupant = auditor_.occupant(cell);
        if (!occupant || occupant->valid_until <= boottime_ns())
            continue;
        auto const* const worker = worker_of(occupant->pid);
        if (worker != nullptr && !worker->pause)
            all.push_back(*occupant);
    }
    return all;
}

std::optional<Holding> Fleet::some_holder()
{
    auto const all = holders();
    return all.empty() ? std::nullopt : std::optional{all[random_.below(all.size())]};
}

std::optional<Holding> Fleet::oldest_holder()
{
    auto const all = holders();
    auto const oldest = std::ranges::min_element(all, {}, &Holding::entered);
    return oldest == all.end() ? std::nullopt : std::optional{*oldest};
}

void Fleet::robbed(Holding const& victim)
{
    Robbery robbery;
    robbery.cell = victim.cell;
    robbery.fencing_token = victim.fencing_token;
    robbery.pid = victim.pid;
    robbery.at = boottime_ns();
    robberies_.push_back(robbery);
}

bool Fleet::while_stopped(pid_t pid, std::function<void()> const& deed)
{
    auto* const worker = worker_of(pid);
    if (worker == nullptr || worker->pause)
        return false;
    struct Stop : test::Immovable {
        explicit Stop(ChildProcess& stopped)
            : process(stopped)
        {
            process.pause();
        }
        ~Stop() { process.resume(); }
        ChildProcess& process;
    };
    Stop const stop{worker->process};
    deed();
    return true;
}

Fleet::Worker* Fleet::worker_of(pid_t pid)
{
    for (auto& worker : workers_)
        if (worker.process.pid() == pid && worker.process.running())
            return &worker;
    return nullptr;
}

Fleet::Worker* Fleet::some_holding_worker()
{
    auto const holder = some_holder();
    return holder ? worker_of(holder->pid) : nullptr;
}

} // namespace tenure::faults
