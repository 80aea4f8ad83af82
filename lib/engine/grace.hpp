// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tenure::engine
{

/** How long a store holds back after a release has named another store: long enough for the named store to be notified
 * and to claim. It assumes that the claims of others take as long as its own. */
class Grace
{
public:
    void claim_took(Clock::duration time) noexcept { round_trip_ += (time - round_trip_) / 4; }

    /** The end of a grace that begins now, with jitter so that stores do not resume at the same instant. */
    [[nodiscard]] Instant over_at(Instant now, std::uint64_t random) const noexcept
    {
        auto const grace = std::clamp<Clock::duration>(round_trip_ * 2, shortest, longest);
        return now + grace + grace / 1024 * static_cast<Clock::rep>(random % 1024);
    }

private:
    static constexpr Clock::duration shortest = std::chrono::milliseconds{10};
    /// a slow answer must not delay a waiter much longer than a poll would
    static constexpr Clock::duration longest = std::chrono::milliseconds{250};

    /// of the last claims, the latest counts most
    Clock::duration round_trip_{};
};

} // namespace tenure::engine
