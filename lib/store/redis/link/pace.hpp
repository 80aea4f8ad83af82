// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <cstddef>

namespace tenure::redis
{

/** How much may be under way to a server at once, measured by its own answers. Pure: instants in, a number out.
 *
 *  Whatever is under way delays a renewal behind it, and no request can overtake what was written. So the server gets
 *  as much as it answers within a target time. A fast server gets `most`, a slow one gets less, at least one. */
class Pace
{
public:
    /** Start of a connection, and of a burst after a rest: a call for many claims, and what follows it. */
    static constexpr std::size_t first = 32;

    /** @param most  enough for full throughput on a distant server */
    explicit Pace(std::size_t most) noexcept;

    /** How much may be under way. */
    [[nodiscard]] std::size_t limit() const noexcept { return limit_; }

    /** Something is about to leave while nothing is under way. The server may have become slow since the last burst. */
    void begin_burst(Instant now) noexcept;

    struct Answer {
        /// from the request to its answer
        Clock::duration took;
        /// the longest that it should take
        Clock::duration target;
        /// size of the request
        std::size_t size = 1;
        /// sizes of all requests under way when it left, including this one
        std::size_t place = 1;
    };
    void answered(Answer const& answer, Instant now) noexcept;

private:
    std::size_t most_;
    std::size_t limit_;
    Instant last_answer_{};
    /// when the limit was lowered last: requests that left before say nothing about the new limit
    Instant last_cut_{};
};

} // namespace tenure::redis
