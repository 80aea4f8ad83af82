// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "verdict.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

namespace tenure::faults
{

using test::Holding;

namespace
{

/// an event loop that did not run for longer than this was stalled: the library is not responsible for its delays
constexpr std::int64_t still = 30'000'000;

/// a renewal's round trip on a machine with more work than cores
constexpr std::int64_t proof_slack = 400'000'000;

std::string milliseconds_text(std::int64_t ns)
{
    return std::to_string(ns / 1'000'000) + " ms";
}

} // namespace

Verdict::Verdict(Arena const& arena, Ledger& ledger, test::Auditor const& auditor)
    : arena_(arena)
    , ledger_(ledger)
    , auditor_(auditor)
{
}

Findings Verdict::judge(std::string const& testimony_file, std::vector<Robbery> const& robberies)
{
    Findings findings;
    findings.testimonies = read_testimonies(testimony_file);
    auto holdings = auditor_.holdings();
    findings.grants = holdings.size();
    // shares of a key overlap
    if (arena_.kinds.empty()) {
        judge_overlaps();
        judge_order(std::move(holdings));
    }
    judge_complaints(findings.testimonies.complaints);
    judge_losses(findings);
    for (auto const& robbery : robberies)
        judge_robbery(robbery, findings);
    return findings;
}

void Verdict::excuse_or_breach(std::string const& rule, std::string const& fault, std::string const& text)
{
    if (fault.empty())
        ledger_.breach(rule, text);
    else
        ledger_.excuse(rule, fault);
}

void Verdict::judge_overlaps()
{
    for (auto const& violation : auditor_.violations()) {
        if (arena_.frees_at_death && ledger_.dead(violation.earlier.pid, violation.later.entered))
            continue;
        excuse_or_breach(
            "S1", ledger_.forgotten_by(violation.later.cell, violation.later.entered, arena_.ttl_ns()),
            arena_.key(violation.later.cell) + ": two live holders: " + violation.describe());
    }
}

void Verdict::judge_order(std::vector<Holding> holdings)
{
    std::stable_sort(holdings.begin(), holdings.end(), [](Holding const& a, Holding const& b) {
        return std::pair{a.cell, a.entered} < std::pair{b.cell, b.entered};
    });
    Holding const* highest = nullptr;
    for (auto const& holding : holdings) {
        // One that was stopped between grant and entry appears behind its successor, and is over when it does.
        if (holding.valid_until <= holding.entered)
            continue;
        if (highest != nullptr && highest->cell == holding.cell && holding.fencing_token <= highest->fencing_token) {
            // The order of two overlapping leases is unknown; another rule covers the overlap. A claim that the store
            // lost may be answered after the end of its successor.
            auto const over = highest->left != 0 ? std::min(highest->left, highest->valid_until) : highest->valid_until;
            auto const since = holding.valid_until - arena_.ttl_ns() * 99 / 100 + 10'000'000;
            if (over <= holding.entered)
                excuse_or_breach(
                    "S10", ledger_.forgotten_by(holding.cell, since, holding.entered, arena_.ttl_ns()),
                    arena_.key(holding.cell) + ": token " + std::to_string(holding.fencing_token) + " after " +
                        std::to_string(highest->fencing_token));
            continue;
        }
        highest = &holding;
    }
}

void Verdict::judge_complaints(std::vector<Complaint> const& complaints)
{
    auto const holdings = auditor_.holdings();
    for (auto const& complaint : complaints) {
        std::string fault;
        // The register may reject a holder whose claim the store lost, once the successor has written. It may also
        // reject a holder that got the key from one of two masters while the other one issued a later token.
        if (complaint.rule == "S10/live-holder-rejected") {
            fault = ledger_.forgotten_by(complaint.cell, complaint.at, arena_.ttl_ns());
            auto const is_its = [&](Holding const& holding) {
                return holding.pid == complaint.pid && holding.cell == complaint.cell &&
                       holding.entered <= complaint.at && (holding.left == 0 || complaint.at <= holding.left);
            };
            auto const holding = std::ranges::find_if(holdings, is_its);
            if (fault.empty() && holding != holdings.end())
                fault = ledger_.forgotten_by(complaint.cell, holding->entered, arena_.ttl_ns());
        }
        excuse_or_breach(
            complaint.rule, fault,
            arena_.key(complaint.cell) + ": process " + std::to_string(complaint.pid) + ": " + complaint.text);
    }
}

void Verdict::judge_losses(Findings& findings)
{
    for (auto const& loss : findings.testimonies.losses) {
        ++findings.losses[loss.reason];
        judge_loss(loss);
        if (loss.reason != "expired")
            continue;
        auto const after_valid_until = loss.told_at - loss.valid_until;
        if (loss.stall > still) {
            auto& worst = findings.worst_stalled_after_valid_until;
            worst = findings.stalled_tokens++ == 0 ? after_valid_until : std::max(worst, after_valid_until);
        } else {
            bool const first = findings.punctual_tokens++ == 0;
            auto const late = [&](std::int64_t& worst, std::int64_t value) {
                worst = first ? value : std::max(worst, value);
            };
            late(findings.worst_after_valid_until, after_valid_until);
            late(findings.worst_after_fires_at, loss.told_at - loss.fires_at);
        }
    }
}

void Verdict::judge_loss(Loss const& loss)
{
    auto const ttl = arena_.ttl_ns();
    auto const who = arena_.key(loss.cell) + ": process " + std::to_string(loss.pid) + ": ";
    if (loss.reason == "lost") {
        // Told at the next renewal that is answered, and never after the validity that was left. While its process and
        // the store were stopped the lease lapsed: then the answer may be read before the clock.
        bool const lapsed = loss.told_at >= loss.valid_until &&
                            ledger_.disturbed(loss.pid, loss.cell, loss.told_at - 2 * ttl, loss.told_at);
        if (!lapsed && ledger_.forgotten_by(loss.cell, loss.told_at, 2 * ttl).empty())
            ledger_.breach(
                "L2", who + "the store disowned a lease, and nobody had touched its key; before it: " +
                          ledger_.around(loss.told_at - 3 * ttl, loss.told_at));
    } else if (loss.reason == "expired") {
        if (loss.stall_before < ttl / 6 &&
            !ledger_.disturbed(loss.pid, loss.cell, loss.told_at - 2 * ttl, loss.told_at))
            ledger_.breach(
                "L2", who + "a lease expired, and nothing had kept its holder from renewing; before it: " +
                          ledger_.around(loss.told_at - 3 * ttl, loss.told_at));
    } else {
        ledger_.breach("L2", who + "a lease was lost for the reason " + loss.reason);
    }
}

void Verdict::judge_robbery(Robbery const& robbery, Findings& findings)
{
    auto const is_victim = [&](auto const& testimony) {
        return testimony.pid == robbery.pid && testimony.cell == robbery.cell &&
               testimony.fencing_token == robbery.fencing_token;
    };
    auto const& testimonies = findings.testimonies;
    auto const who = arena_.key(robbery.cell) + ": process " + std::to_string(robbery.pid) + ": ";
    auto const back = std::ranges::find_if(testimonies.given_back, is_victim);
    if (back != testimonies.given_back.end() && back->began > robbery.at && back->outcome == "released")
        ledger_.breach("S7", who + "a release says that it freed a key that a stranger had taken before");
    auto const loss = std::ranges::find_if(testimonies.losses, is_victim);
    bool const told = loss != testimonies.losses.end();
    if (!told && back == testimonies.given_back.end())
        return;
    // Up to here its holder relied on it.
    auto const end = told ? loss->told_at : back->began;
    if (end < robbery.at || ledger_.disturbed(robbery.pid, robbery.cell, robbery.at - arena_.ttl_ns() / 2, end) ||
        (told && loss->stall_before > arena_.ttl_ns() / 6))
        return;
    auto const took = end - robbery.at;
    if (took > arena_.ttl_ns() / 3 + proof_slack || (told && loss->reason != "lost"))
        ledger_.breach(
            "S5", who + "a stranger took the key, renewals were answered, and its holder relied on it for another " +
                      milliseconds_text(took));
    else if (told)
        findings.slowest_proof = findings.proven_losses++ == 0 ? took : std::max(findings.slowest_proof, took);
}

void Verdict::judge_register(std::string const& log)
{
    std::ifstream file{log};
    for (std::string text; std::getline(file, text);) {
        std::istringstream line{text};
        std::uint32_t cell = 0;
        std::uint64_t token = 0;
        std::int64_t entered = 0;
        line >> cell >> token >> entered;
        excuse_or_breach(
            "S10/stale-write-accepted", ledger_.forgotten_by(cell, entered, arena_.ttl_ns()),
            arena_.key(cell) + ": the register accepted a stale write: " + text);
    }
}

} // namespace tenure::faults
