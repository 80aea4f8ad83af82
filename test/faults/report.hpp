// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "fleet.hpp"
#include "ledger.hpp"
#include "register_process.hpp"
#include "share_verdict.hpp"
#include "share_watcher.hpp"
#include "verdict.hpp"
#include "watcher.hpp"

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace tenure::faults
{

/** All that a run has shown. */
struct Report {
    std::vector<FaultRecord> faults;
    std::vector<Breach> breaches;
    std::map<std::string, std::uint64_t> excused;
    Findings findings;
    FleetCounts fleet;
    Watcher::Figures figures;
    /// of a run in which the locks are held in shares, by kind
    std::map<std::string, ShareFigures> shares;
    ShareWatcher::Figures share_looks;
    RegisterProcess::Totals writes;
    /// from the end of the last worker until no key was held, ns
    std::int64_t clean_after = 0;
    /// the whole run, ns
    std::int64_t time = 0;
};

/** For people; the last line is "N faults, G grants, V violations, T s". */
void print(std::ostream& out, Report const& report);

} // namespace tenure::faults
