// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "ledger.hpp"

#include "harness/auditor.hpp"

#include <iostream>
#include <utility>

namespace tenure::faults
{

using test::boottime_ns;

FaultRecord disturbing(std::string name, std::vector<std::uint32_t> cells)
{
    FaultRecord fault;
    fault.name = std::move(name);
    fault.cells = std::move(cells);
    return fault;
}

FaultRecord harmless(std::string name)
{
    auto fault = disturbing(std::move(name));
    fault.harmless = true;
    return fault;
}

FaultRecord forgetting(std::string name, std::vector<std::uint32_t> cells)
{
    auto fault = disturbing(std::move(name), std::move(cells));
    fault.forgets = true;
    return fault;
}

std::size_t Ledger::begin(FaultRecord fault)
{
    std::lock_guard const lock{mutex_};
    fault.from = boottime_ns();
    faults_.push_back(std::move(fault));
    return faults_.size() - 1;
}

void Ledger::end(std::size_t number)
{
    std::lock_guard const lock{mutex_};
    faults_.at(number).to = boottime_ns();
}

std::vector<FaultRecord> Ledger::faults() const
{
    std::lock_guard const lock{mutex_};
    return faults_;
}

std::size_t Ledger::fault_count() const
{
    return faults().size();
}

void Ledger::stalled(std::int64_t from, std::int64_t to)
{
    std::lock_guard const lock{mutex_};
    FaultRecord stall;
    stall.name = "machine stood still";
    stall.from = from;
    stall.to = to;
    stalls_.push_back(std::move(stall));
}

std::string Ledger::forgotten_by(std::uint32_t cell, std::int64_t at, std::int64_t bound) const
{
    return forgotten_by(cell, 0, at, bound);
}

std::string Ledger::forgotten_by(std::uint32_t cell, std::int64_t since, std::int64_t at, std::int64_t bound) const
{
    std::lock_guard const lock{mutex_};
    for (auto const& fault : faults_) {
        auto const until = fault.to == not_yet ? not_yet : fault.to + bound;
        if (fault.forgets && since <= fault.to && fault.from <= at && at <= until && fault.concerns(cell))
            return fault.name;
    }
    return {};
}

bool Ledger::disturbed(pid_t process, std::uint32_t cell, std::int64_t from, std::int64_t to) const
{
    return touches(process, cell, from, to, false);
}

bool Ledger::touched(pid_t process, std::uint32_t cell, std::int64_t from, std::int64_t to) const
{
    return touches(process, cell, from, to, true);
}

bool Ledger::touches(pid_t process, std::uint32_t cell, std::int64_t from, std::int64_t to, bool harmless_too) const
{
    std::lock_guard const lock{mutex_};
    auto const touches = [&](FaultRecord const& fault) { return fault.from <= to && from <= fault.to; };
    for (auto const& fault : faults_)
        if ((harmless_too || !fault.harmless) && fault.concerns(cell) && touches(fault) &&
            (!fault.process || *fault.process == process))
            return true;
    for (auto const& stall : stalls_)
        if (touches(stall))
            return true;
    return false;
}

std::int64_t Ledger::last_of_a_process() const
{
    std::lock_guard const lock{mutex_};
    std::int64_t last = 0;
    for (auto const& fault : faults_)
        if (fault.process)
            last = std::max(last, fault.from);
    return last;
}

std::string Ledger::around(std::int64_t from, std::int64_t to) const
{
    std::lock_guard const lock{mutex_};
    auto const relative = [to](std::int64_t at) { return std::to_string((at - to) / 1'000'000) + " ms"; };
    std::string text;
    for (auto const& fault : faults_)
        if (fault.from <= to && from <= fault.to)
            text += (text.empty() ? "" : "; ") + fault.name + " from " + relative(fault.from) +
                    (fault.to == not_yet ? " on" : " to " + relative(fault.to));
    return text.empty() ? "no fault" : text;
}

void Ledger::killed(pid_t process)
{
    std::lock_guard const lock{mutex_};
    killed_[process] = test::boottime_ns();
}

bool Ledger::dead(pid_t process, std::int64_t at) const
{
    std::lock_guard const lock{mutex_};
    auto const found = killed_.find(process);
    return found != killed_.end() && found->second <= at;
}

void Ledger::breach(std::string rule, std::string text)
{
    std::lock_guard const lock{mutex_};
    std::cout << "VIOLATION of " << rule << ": " << text << std::endl;
    breaches_.push_back({std::move(rule), std::move(text)});
}

void Ledger::excuse(std::string const& rule, std::string const& fault)
{
    std::lock_guard const lock{mutex_};
    ++excused_[rule + " by: " + fault];
}

std::vector<Breach> Ledger::breaches() const
{
    std::lock_guard const lock{mutex_};
    return breaches_;
}

std::size_t Ledger::breach_count() const
{
    return breaches().size();
}

std::map<std::string, std::uint64_t> Ledger::excused() const
{
    std::lock_guard const lock{mutex_};
    return excused_;
}

} // namespace tenure::faults
