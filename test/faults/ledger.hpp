// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tenure::faults
{

inline constexpr std::int64_t not_yet = std::numeric_limits<std::int64_t>::max();

/** One fault that was made, in ns of CLOCK_BOOTTIME. */
struct FaultRecord {
    std::string name;
    std::int64_t from = 0;
    std::int64_t to = not_yet;
    /// the affected process; unset: any process may be affected
    std::optional<pid_t> process;
    /// no lease may be lost by it
    bool harmless = false;
    /// the store itself forgot claims, or was made to: leases that were lost that way are excused
    bool forgets = false;
    /// the affected keys; empty: all
    std::vector<std::uint32_t> cells = {};

    [[nodiscard]] bool concerns(std::uint32_t cell) const
    {
        return cells.empty() || std::ranges::find(cells, cell) != cells.end();
    }
};

/** Leases may end by it, in time. */
[[nodiscard]] FaultRecord disturbing(std::string name, std::vector<std::uint32_t> cells = {});
/** No lease may be lost by it. */
[[nodiscard]] FaultRecord harmless(std::string name);
/** The store may lose what it has answered. */
[[nodiscard]] FaultRecord forgetting(std::string name, std::vector<std::uint32_t> cells = {});

/** A rule that was broken. */
struct Breach {
    std::string rule;
    std::string text;
};

/** The record of a run: the disturbances of the store and its users, and the findings. Safe to use from several
 * threads. */
class Ledger
{
public:
    /** A fault begins now; the number names it. */
    std::size_t begin(FaultRecord fault);
    /** It has ended. */
    void end(std::size_t number);
    [[nodiscard]] std::vector<FaultRecord> faults() const;
    [[nodiscard]] std::size_t fault_count() const;

    /** Records an event that the script did not cause: the machine stalled. */
    void stalled(std::int64_t from, std::int64_t to);

    /** The fault because of which the store may have forgotten a claim on the cell that was believed at `at`: one that
     * began before, and ended no longer than `bound` ago. Empty if there is none. */
    [[nodiscard]] std::string forgotten_by(std::uint32_t cell, std::int64_t at, std::int64_t bound) const;
    /** The same for a claim that the store executed after `since` and that was believed from `at` on: empty also if the
     * store lost no key after that. */
    [[nodiscard]] std::string
    forgotten_by(std::uint32_t cell, std::int64_t since, std::int64_t at, std::int64_t bound) const;
    /** Whether a fault that may keep the process from renewing the cell's lease touches the interval. */
    [[nodiscard]] bool disturbed(pid_t process, std::uint32_t cell, std::int64_t from, std::int64_t to) const;

    /** Whether any fault, also a harmless one, of the process or the cell touches the interval. */
    [[nodiscard]] bool touched(pid_t process, std::uint32_t cell, std::int64_t from, std::int64_t to) const;

    /** When the last of the faults began that one process suffers; 0 if none did. */
    [[nodiscard]] std::int64_t last_of_a_process() const;

    /** Which faults touch the interval, and when, counted from its end; for a person. */
    [[nodiscard]] std::string around(std::int64_t from, std::int64_t to) const;

    /** The process is killed now. */
    void killed(pid_t process);
    [[nodiscard]] bool dead(pid_t process, std::int64_t at) const;

    void breach(std::string rule, std::string text);
    /** One that a documented weakness of the store explains. */
    void excuse(std::string const& rule, std::string const& fault);
    [[nodiscard]] std::vector<Breach> breaches() const;
    [[nodiscard]] std::size_t breach_count() const;
    [[nodiscard]] std::map<std::string, std::uint64_t> excused() const;

private:
    [[nodiscard]] bool
    touches(pid_t process, std::uint32_t cell, std::int64_t from, std::int64_t to, bool harmless_too) const;

    mutable std::mutex mutex_;
    // all of these under the mutex
    std::vector<FaultRecord> faults_;
    std::vector<FaultRecord> stalls_;
    std::vector<Breach> breaches_;
    /// when processes were killed
    std::map<pid_t, std::int64_t> killed_;
    /// by rule and fault
    std::map<std::string, std::uint64_t> excused_;
};

/** A fault that ends with the block. */
class FaultScope : test::Immovable
{
public:
    FaultScope(Ledger& ledger, FaultRecord fault)
        : ledger_(ledger)
        , number_(ledger.begin(std::move(fault)))
    {
    }
    ~FaultScope() { ledger_.end(number_); }

private:
    Ledger& ledger_;
    std::size_t number_;
};

} // namespace tenure::faults
