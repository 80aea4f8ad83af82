// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenure
{

/** SplitMix64 (Steele, Lea, Flood, 2014): any seed gives a full-period sequence. Its numbers are no secrets. */
class SplitMix
{
public:
    explicit SplitMix(std::uint64_t seed) noexcept
        : state_(seed)
    {
    }

    [[nodiscard]] std::uint64_t next() noexcept
    {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    /** Fills the bytes in an order that is the same on every machine. */
    void fill(std::span<std::byte> bytes) noexcept
    {
        for (std::size_t i = 0; i < bytes.size();) {
            auto number = next();
            for (std::size_t k = 0; k < sizeof number && i < bytes.size(); ++k, ++i, number >>= 8U)
                bytes[i] = static_cast<std::byte>(number & 0xffU);
        }
    }

private:
    std::uint64_t state_;
};

} // namespace tenure
