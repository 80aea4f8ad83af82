// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Pace: the limit grows with each quick answer, and falls in proportion to the delay.
#include "pace.hpp"

#include <algorithm>
#include <chrono>

namespace tenure::redis
{

namespace
{

/// after a rest of this length the last limit says nothing
constexpr std::chrono::seconds rest{1};

} // namespace

Pace::Pace(std::size_t most) noexcept
    : most_(most)
    , limit_(std::min(first, most))
{
}

void Pace::begin_burst(Instant now) noexcept
{
    if (now - last_answer_ > rest)
        limit_ = std::min(limit_, first);
}

void Pace::answered(Answer const& answer, Instant now) noexcept
{
    last_answer_ = now;
    if (answer.took > answer.target) {
        if (now - answer.took < last_cut_)
            return;
        auto const share = static_cast<double>(answer.target.count()) / static_cast<double>(answer.took.count());
        auto const bearable = static_cast<double>(std::min(limit_, answer.place)) * share;
        limit_ = std::max<std::size_t>(static_cast<std::size_t>(bearable), 1);
        last_cut_ = now;
        return;
    }
    // Only a limit that was used is known to be bearable. The last place of a full window would take this long; while
    // that is little, the limit doubles with each round trip.
    bool const was_used = answer.place >= limit_ / 2;
    if (was_used &&
        answer.took * static_cast<Clock::rep>(limit_) <= answer.target / 2 * static_cast<Clock::rep>(answer.place))
        limit_ = std::min(most_, limit_ + answer.size);
}

} // namespace tenure::redis
