// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstdint>

namespace tenure::simulation
{

/** A stream of numbers that is the same on every machine: no distribution of the standard library, whose results differ
 *  between libraries. Each part of a world has a stream of its own, so that a fault that is left out
 *  does not change what the others draw. */
class Random
{
public:
    explicit Random(std::uint64_t seed = 0, std::uint64_t purpose = 0) noexcept
        : state_(seed * 0xd1342543de82ef95U + purpose * 0x2545f4914f6cdd1dU + 0x632be59bd9b4e019U)
    {
    }

    [[nodiscard]] std::uint64_t next() noexcept
    {
        // splitmix64: any seed gives a full-period sequence
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    /** [0, limit), limit > 0 and below 2^32. */
    [[nodiscard]] std::uint32_t below(std::uint32_t limit) noexcept
    {
        return static_cast<std::uint32_t>(((next() >> 32U) * limit) >> 32U);
    }

    /** [first, last]. */
    [[nodiscard]] std::int64_t between(std::int64_t first, std::int64_t last) noexcept
    {
        return first + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(last - first + 1));
    }

    [[nodiscard]] bool chance(std::uint32_t of_ten_thousand) noexcept { return below(10'000) < of_ten_thousand; }

private:
    std::uint64_t state_;
};

} // namespace tenure::simulation
