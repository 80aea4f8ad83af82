// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <algorithm>
#include <cstdint>

namespace tenure::simulation
{

/** Time of the simulated world, in nanoseconds since its beginning. Its processes cannot read it. */
using Ns = std::int64_t;

constexpr Ns microsecond = 1000;
constexpr Ns millisecond = 1000 * microsecond;
constexpr Ns second = 1000 * millisecond;

/** Later than the end of any world. */
constexpr Ns far_future = 1000 * second;

/** The clock of a process or server in the world: it has its own origin and rate. */
class LocalClock
{
public:
    LocalClock() noexcept = default;
    LocalClock(Ns offset, std::int64_t parts_per_million) noexcept
        : offset_(offset)
        , drift_(parts_per_million * (std::int64_t{1} << shift) / 1'000'000)
    {
    }

    /** @param world  not beyond `far_future` */
    [[nodiscard]] Ns at(Ns world) const noexcept { return offset_ + world + ((world * drift_) >> shift); }

    /** The first moment of the world at which this clock shows `local` or more; at most `far_future`. */
    [[nodiscard]] Ns world_at(Ns local) const noexcept
    {
        if (local >= at(far_future))
            return far_future;
        auto const passed = local - offset_;
        // the estimate is off by the square of the drift: a few steps mend it
        auto world = std::clamp<Ns>(passed - ((passed * drift_) >> shift), 0, far_future);
        while (world > 0 && at(world) >= local)
            world -= 1 + (at(world) - local);
        while (at(world) < local)
            world += std::max<Ns>(1, (local - at(world)) / 2);
        return world;
    }

    [[nodiscard]] Instant instant_at(Ns world) const noexcept { return Instant(Clock::duration(at(world))); }

    void jump(Ns by) noexcept { offset_ += by; }

private:
    static constexpr unsigned shift = 30;

    Ns offset_ = 0;
    /// how much faster than the world, in parts of 2^30
    std::int64_t drift_ = 0;
};

} // namespace tenure::simulation
