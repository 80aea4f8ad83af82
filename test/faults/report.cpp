// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "report.hpp"

#include <iomanip>
#include <ostream>

namespace tenure::faults
{

namespace
{

using Counts = std::map<std::string, std::uint64_t>;

double in_milliseconds(std::int64_t ns)
{
    return static_cast<double>(ns) / 1e6;
}

void print_counts(std::ostream& out, char const* title, Counts const& counts)
{
    out << title << "\n";
    if (counts.empty())
        out << "        none\n";
    for (auto const& [name, count] : counts)
        out << std::setw(10) << count << "  " << name << "\n";
}

void print_lateness(std::ostream& out, Findings const& findings)
{
    if (findings.punctual_tokens != 0)
        out << "  " << findings.punctual_tokens << " tokens fired for want of time in loops that turned, at worst "
            << in_milliseconds(findings.worst_after_fires_at) << " ms after valid_until - notice, "
            << in_milliseconds(findings.worst_after_valid_until) << " ms after valid_until (negative: before)\n";
    if (findings.stalled_tokens != 0)
        out << "  " << findings.stalled_tokens
            << " in processes or loops that stood still just then, told when they went on, at worst "
            << in_milliseconds(findings.worst_stalled_after_valid_until) << " ms after valid_until\n";
    if (findings.proven_losses != 0)
        out << "  " << findings.proven_losses
            << " holders were told that a stranger had taken their key, at worst after "
            << in_milliseconds(findings.slowest_proof) << " ms\n";
}

} // namespace

void print(std::ostream& out, Report const& report)
{
    auto const& findings = report.findings;
    Counts faults;
    for (auto const& fault : report.faults)
        ++faults[fault.name];
    Counts violations;
    for (auto const& breach : report.breaches)
        ++violations[breach.rule];

    out << std::fixed << std::setprecision(1);
    print_counts(out, "faults", faults);
    print_counts(out, "losses, by reason", findings.losses);
    print_counts(out, "acquisitions that ended otherwise", findings.testimonies.failed);
    print_counts(out, "writes to the register with a token that was over", findings.testimonies.late_writes);
    print_counts(out, "broken by the store itself, as documented", report.excused);
    print_counts(out, "violations, by rule", violations);
    out << "figures\n";
    print_lateness(out, findings);
    out << "  " << report.fleet.long_pauses << " holders stopped beyond the ttl; " << report.fleet.kills
        << " workers killed, their keys held again at worst " << in_milliseconds(report.fleet.slowest_return)
        << " ms later\n";
    for (auto const& [kind, figures] : report.shares)
        out << "  " << kind << ": " << figures.grants << " turns, " << figures.timed_out
            << " acquisitions without one, longest wait of an undisturbed process "
            << in_milliseconds(figures.longest_wait) << " ms, turns of a worker " << std::setprecision(2)
            << figures.fewest << " to " << figures.most << std::setprecision(1) << " of the mean\n";
    if (!report.shares.empty())
        out << "  " << report.fleet.waiters_killed << " waiters killed, " << report.fleet.waiters_stopped
            << " stopped beyond the ttl; " << report.share_looks.looks << " looks at places, up to "
            << report.share_looks.most_places << " of a key, which found that of a live lease "
            << report.share_looks.live << " times\n";
    out << "  " << report.figures.looks << " looks at the store, which found what a live holder believed "
        << report.figures.live << " times\n";
    if (report.figures.compared != 0)
        out << "  valid_until was at least " << in_milliseconds(report.figures.least_margin)
            << " ms before the store's expiry in " << report.figures.compared << " comparisons\n";
    out << "  a key stayed taken without a holder for " << in_milliseconds(report.figures.longest_orphan)
        << " ms at most; all were free " << in_milliseconds(report.clean_after)
        << " ms after the last worker had ended\n"
        << "  register: " << report.writes.accepted << " writes accepted, " << report.writes.rejected << " rejected, "
        << report.writes.stale << " stale ones accepted\n";
    out << report.faults.size() << " faults, " << findings.grants << " grants, " << report.breaches.size()
        << " violations, " << static_cast<double>(report.time) / 1e9 << " s" << std::endl;
}

} // namespace tenure::faults
