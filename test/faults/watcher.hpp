// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "observation.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace tenure::faults
{

/** Compares, many times a second, what holders believe (the auditor) with what the store says. */
class Watcher : public Observation
{
public:
    struct Figures : Looks {
        /// the live ones in which the store told when it would free the key
        std::uint64_t compared = 0;
        /// the least time seen from `valid_until` to the store's expiry
        std::int64_t least_margin = std::numeric_limits<std::int64_t>::max();
        /// the longest time for which a key was taken without a live holder
        std::int64_t longest_orphan = 0;
    };

    Watcher(Arena const& arena, test::Auditor const& auditor, StoreUnderAttack& store, Ledger& ledger);
    ~Watcher();

    /** Ends the thread; what it has seen. */
    [[nodiscard]] Figures stop();

private:
    using Occupants = std::vector<std::optional<test::Holding>>;
    /** The memory of a key from one look to the next. */
    struct Memory {
        /// taken without a live holder, by this claim, since
        std::optional<std::uint64_t> orphan_claim;
        std::int64_t orphan_since = 0;
        /// one complaint for each rule and grant is enough: the token, or the claim that the store told
        std::optional<std::uint64_t> complained_live;
        std::optional<std::uint64_t> complained_expiry;
        std::optional<std::uint64_t> complained_orphan;
        std::optional<std::uint64_t> complained_endless;
    };

    void run();
    void look();
    [[nodiscard]] Occupants occupants() const;
    void compare(
        std::uint32_t cell, KeyLook const& key, test::Holding const& before, std::optional<test::Holding> const& after);
    void look_for_orphan(std::uint32_t cell, KeyLook const& key, std::optional<test::Holding> const& after);
    void complain(
        std::optional<std::uint64_t>& last, std::uint64_t grant, std::string rule, std::string const& text,
        std::uint32_t cell);

    // of the thread, until it has ended
    std::vector<Memory> memory_;
    Figures figures_;
};

} // namespace tenure::faults
