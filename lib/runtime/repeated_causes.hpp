// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "repeat_schedule.hpp"

#include <tenure/clock.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure
{

/** Schedules of the causes of one subject, by the words of each cause. Causes beyond the eighth share one schedule, so
 *  that words with a changing part do not make a line each. */
class RepeatedCauses
{
public:
    explicit RepeatedCauses(RepeatSchedule::Ends ends = RepeatSchedule::Ends::by_itself) noexcept
        : ends_(ends)
    {
    }

    /** As `RepeatSchedule::happened`. */
    [[nodiscard]] std::optional<Repeated>
    happened(std::string_view cause, Instant now, RepeatSchedule::First first = RepeatSchedule::First::at_once);

    /** All causes have ended. Set: occurrences of all, and how long they lasted together, if a cause was logged and
     *  lasted for a second. */
    [[nodiscard]] std::optional<Repeated> end(Instant now) noexcept;

    /** A cause has not ended. */
    [[nodiscard]] bool lasts() const noexcept { return lasts_; }

private:
    [[nodiscard]] RepeatSchedule& of(std::string_view cause, Instant now);

    RepeatSchedule::Ends ends_;
    bool lasts_ = false;
    /// causes with their schedules
    std::vector<std::pair<std::string, RepeatSchedule>> causes_;
    /// schedule of all further causes
    RepeatSchedule others_{ends_};
};

} // namespace tenure
