// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "arena.hpp"
#include "ledger.hpp"
#include "store_under_attack.hpp"

#include "harness/auditor.hpp"
#include "harness/immovable.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

namespace tenure::faults
{

/** How often an observation has seen what it looks for. */
struct Looks {
    std::uint64_t looks = 0;
    /// looks at a key or place with a live lease, which had it
    std::uint64_t live = 0;
};

/** A thread that looks at a store many times a second, and what it compares the looks with. */
class Observation : test::Immovable
{
public:
    /** Whether a look that began after the instant found nothing held. Any thread. */
    [[nodiscard]] bool nothing_held_since(std::int64_t instant) const noexcept { return free_look_ > instant; }

protected:
    Observation(Arena const& arena, test::Auditor const& auditor, StoreUnderAttack& store, Ledger& ledger)
        : arena_(arena)
        , auditor_(auditor)
        , store_(store)
        , ledger_(ledger)
    {
    }
    ~Observation() = default;

    /** Every object that the thread uses must be there, and must stay until `end`. */
    void begin(std::function<void()> looks) { thread_ = std::thread(std::move(looks)); }
    void end()
    {
        ended_ = true;
        if (thread_.joinable())
            thread_.join();
    }
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    /** Notes a pause between two looks that took too long. */
    void paused(std::int64_t before, std::int64_t after)
    {
        if (after - before > arena_.ttl_ns() / 8)
            ledger_.stalled(before, after);
    }
    void found_free(std::int64_t instant) noexcept { free_look_ = instant; }

    Arena const& arena_;
    test::Auditor const& auditor_;
    StoreUnderAttack& store_;
    Ledger& ledger_;

private:
    std::atomic<bool> ended_ = false;
    /// when the last look began that found nothing held
    std::atomic<std::int64_t> free_look_ = 0;
    std::thread thread_;
};

} // namespace tenure::faults
