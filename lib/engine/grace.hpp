// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tenure::engine
{

/** How long a store holds back when a release has named another one: long enough for that one to hear of it and to
 * claim. It knows how long this store's own claims take, and supposes that theirs take as long. */
class Grace
{
public:
    void claim_took(Clock::duration time) noexcept { round_trip_ += (time - round_trip_) / 4; }

    /** One that begins now is over then: those who hold back do not all come back at the same instant. */
    [[nodiscard]] Instant over_at(Instant now, std::uint64_t random) const noexcept
    {
        auto const grace = std::clamp<Clock::duration>(round_trip_ * 2, shortest, longest);
        return now + grace + grace / 1024 * static_cast<Clock::rep>(random % 1024);
    }

private:
    static constexpr Clock::duration shortest = std::chrono::milliseconds{10};
    /// one slow answer must not keep anybody waiting for much longer than a poll would
    static constexpr Clock::duration longest = std::chrono::milliseconds{250};

    /// of the last claims, the latest counts most
    Clock::duration round_trip_{};
};

} // namespace tenure::engine
