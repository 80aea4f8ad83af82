// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <algorithm>
#include <cstdint>

namespace tenure::simulation
{

/** Time of the simulated world, in nanoseconds since its beginning. Nobody in it can see it. */
using Ns = std::int64_t;

constexpr Ns microsecond = 1000;
constexpr Ns millisecond = 1000 * microsecond;
constexpr Ns second = 1000 * millisecond;

/** A clock that somebody in the world reads: it started elsewhere, and runs at its own speed. */
class LocalClock
{
public:
    LocalClock() noexcept = default;
    LocalClock(Ns offset, std::int64_t parts_per_million) noexcept
        : offset_(offset)
        , drift_(parts_per_million)
    {
    }

    [[nodiscard]] Ns at(Ns world) const noexcept
    {
        return offset_ + world + world / million * drift_ + world % million * drift_ / million;
    }

    /** The first moment of the world at which this clock shows `local` or more; at most `latest`. */
    [[nodiscard]] Ns world_at(Ns local, Ns latest) const noexcept
    {
        if (local >= at(latest))
            return latest;
        auto const passed = local - offset_;
        auto world = passed - passed / (million + drift_) * drift_;
        // the estimate is off by what rounding left: a few steps mend it
        while (at(world) >= local)
            world -= 1 + (at(world) - local);
        while (at(world) < local)
            world += std::max<Ns>(1, (local - at(world)) / 2);
        return world;
    }

    [[nodiscard]] Instant instant_at(Ns world) const noexcept { return Instant(Clock::duration(at(world))); }

    void jump(Ns by) noexcept { offset_ += by; }

private:
    static constexpr Ns million = 1'000'000;

    Ns offset_ = 0;
    std::int64_t drift_ = 0;
};

} // namespace tenure::simulation
