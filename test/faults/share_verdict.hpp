// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "arena.hpp"
#include "ledger.hpp"
#include "testimony.hpp"

#include "harness/auditor.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tenure::faults
{

/** The figures of one kind. */
struct ShareFigures {
    std::uint64_t grants = 0;
    std::uint64_t timed_out = 0;
    /// the longest wait for a grant, of a process and a store that nothing happened to meanwhile, ns
    std::int64_t longest_wait = 0;
    /// fewest and most turns of a worker, in parts of the mean; 0: too few to compare
    double fewest = 0;
    double most = 0;
};

/** Judges the leases of shares after a run. */
class ShareVerdict
{
public:
    ShareVerdict(Arena const& arena, Ledger& ledger, std::vector<test::Holding> leases)
        : arena_(arena)
        , ledger_(ledger)
        , leases_(std::move(leases))
    {
    }

    /** By the name of the kind.
     *  @param work  of any worker */
    [[nodiscard]] std::map<std::string, ShareFigures> judge(std::vector<Turn> const& turns, ShareWork const& work);

private:
    void judge_weights();
    void judge_tokens();
    /** Compares the turns of the workers, except those of times without waiters, which have no order. */
    void
    judge_fairness(std::uint32_t cell, ShareFigures& figures, std::vector<Turn> const& turns, ShareWork const& work);
    /** Up to when the lease counts. */
    [[nodiscard]] std::int64_t end_of(test::Holding const& lease) const;

    Arena const& arena_;
    Ledger& ledger_;
    std::vector<test::Holding> leases_;
};

} // namespace tenure::faults
