// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "arena.hpp"
#include "fleet.hpp"
#include "ledger.hpp"
#include "testimony.hpp"

#include "harness/auditor.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenure::faults
{

/** The observations of a run, except violations, which are in the ledger. */
struct Findings {
    std::uint64_t grants = 0;
    std::map<std::string, std::uint64_t> losses;
    /// tokens that were cancelled by time while the event loop ran: the latest against `valid_until` and `fires_at`, ns
    std::uint64_t punctual_tokens = 0;
    std::int64_t worst_after_valid_until = 0;
    std::int64_t worst_after_fires_at = 0;
    /// the same of processes that were paused
    std::uint64_t stalled_tokens = 0;
    std::int64_t worst_stalled_after_valid_until = 0;
    /// from a stranger's deed to the token of the holder; the slowest, where nothing else was the matter
    std::uint64_t proven_losses = 0;
    std::int64_t slowest_proof = 0;
    Testimonies testimonies;
};

/** Judges a run after its end: what one look during the run cannot tell. */
class Verdict
{
public:
    Verdict(Arena const& arena, Ledger& ledger, test::Auditor const& auditor);

    [[nodiscard]] Findings judge(std::string const& testimony_file, std::vector<Robbery> const& robberies);
    /** Writes that the register accepted after a write under a later lease. */
    void judge_register(std::string const& log);

private:
    void judge_overlaps();
    void judge_order(std::vector<test::Holding> holdings);
    void judge_complaints(std::vector<Complaint> const& complaints);
    void judge_losses(Findings& findings);
    void judge_loss(Loss const& loss);
    void judge_robbery(Robbery const& robbery, Findings& findings);
    void excuse_or_breach(std::string const& rule, std::string const& fault, std::string const& text);

    Arena const& arena_;
    Ledger& ledger_;
    test::Auditor const& auditor_;
};

} // namespace tenure::faults
