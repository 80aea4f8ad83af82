// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace tenure::net
{

/** Pauses before attempts to connect: from a tenth of a second, doubling up to the limit, with jitter so that programs
 *  do not retry in step. */
class Backoff
{
public:
    Backoff(std::chrono::milliseconds longest, std::function<std::uint64_t()> random)
        : longest_(longest)
        , random_(std::move(random))
    {
    }

    /** The pause after a failed attempt. */
    [[nodiscard]] std::chrono::nanoseconds after_failure()
    {
        std::chrono::nanoseconds const step =
            std::min<std::chrono::nanoseconds>(shortest * (1 << failures_), longest_pause());
        failures_ = std::min(failures_ + 1, 16);
        return step / 2 + part_of(step / 2);
    }

    /** The pause after a refusal that only a person can fix. */
    [[nodiscard]] std::chrono::nanoseconds after_refusal() const noexcept { return longest_pause(); }

    /** Sets the shortest ttl of the held leases (zero: no leases): pauses leave time for several attempts before a
     *  lease is lost. */
    void protect(std::chrono::milliseconds shortest_ttl) noexcept { shortest_ttl_ = shortest_ttl; }

    /** A connection works: the next failure counts as the first. */
    void worked() noexcept { failures_ = rejections_ = 0; }

    /** The pause after a working connection was lost: the server is probably there, so leases should not wait long. */
    [[nodiscard]] std::chrono::nanoseconds after_loss()
    {
        failures_ = rejections_ = 0;
        return part_of(std::min<std::chrono::nanoseconds>(shortest / 4, longest_));
    }

    /** The pause after a working connection was lost early. It prevents a busy loop, but does not grow, because long
     *  pauses would cost leases while the store is reachable. */
    [[nodiscard]] std::chrono::nanoseconds after_short_life()
    {
        std::chrono::nanoseconds const step = std::min<std::chrono::nanoseconds>(shortest, longest_);
        return step / 2 + part_of(step / 2);
    }

    /** The pause after a connection on which no lease depends was refused, or ended early although the login worked.
     * The server or a proxy does so on purpose, so the pause doubles up to a minute. */
    [[nodiscard]] std::chrono::nanoseconds after_rejection()
    {
        std::chrono::nanoseconds const step =
            std::min<std::chrono::nanoseconds>(shortest * (1 << rejections_), longest_after_rejection);
        rejections_ = std::min(rejections_ + 1, 16);
        return step / 2 + part_of(step / 2);
    }

private:
    static constexpr std::chrono::milliseconds shortest{100};
    static constexpr std::chrono::seconds longest_after_rejection{60};
    /// fraction of the shortest ttl: a lease survives an outage of about half its ttl
    static constexpr int attempts_per_ttl = 12;

    [[nodiscard]] std::chrono::nanoseconds longest_pause() const noexcept
    {
        if (shortest_ttl_ <= std::chrono::milliseconds::zero())
            return longest_;
        return std::min(longest_, std::max<std::chrono::nanoseconds>(shortest / 2, shortest_ttl_ / attempts_per_ttl));
    }

    [[nodiscard]] std::chrono::nanoseconds part_of(std::chrono::nanoseconds whole)
    {
        auto const span = static_cast<std::uint64_t>(whole.count()) + 1;
        return std::chrono::nanoseconds(static_cast<std::int64_t>(random_() % span));
    }

    std::chrono::nanoseconds longest_;
    std::chrono::milliseconds shortest_ttl_{0};
    std::function<std::uint64_t()> random_;
    /// failed attempts since the last working connection
    int failures_ = 0;
    /// rejections since the last connection that lasted
    int rejections_ = 0;
};

} // namespace tenure::net
