// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Causes that repeat, by their words.
#include "repeated_causes.hpp"

#include <algorithm>
#include <cstddef>

namespace tenure
{

namespace
{

constexpr std::size_t most_causes = 8;

} // namespace

RepeatSchedule& RepeatedCauses::of(std::string_view cause, Instant now)
{
    auto const is_it = [&](auto const& one) { return one.first == cause; };
    if (auto const found = std::ranges::find_if(causes_, is_it); found != causes_.end())
        return found->second;
    if (causes_.size() >= most_causes)
        std::erase_if(causes_, [&](auto const& one) { return one.second.is_over(now); });
    if (causes_.size() >= most_causes)
        return others_;
    return causes_.emplace_back(cause, RepeatSchedule(ends_)).second;
}

std::optional<Repeated> RepeatedCauses::happened(std::string_view cause, Instant now, RepeatSchedule::First first)
{
    lasts_ = true;
    return of(cause, now).happened(now, first);
}

std::optional<Repeated> RepeatedCauses::end(Instant now) noexcept
{
    lasts_ = false;
    std::optional<Repeated> result;
    auto const add = [&](RepeatSchedule& one) {
        auto const ended = one.end(now);
        if (!ended)
            return;
        if (!result)
            result.emplace();
        result->total += ended->total;
        result->lasting = std::max(result->lasting, ended->lasting);
    };
    for (auto& [cause, schedule] : causes_)
        add(schedule);
    add(others_);
    return result;
}

} // namespace tenure
