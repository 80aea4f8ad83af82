// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// When causes that repeat are logged.
#include "repeat_schedule.hpp"

#include <array>
#include <utility>

namespace tenure
{

namespace
{

using namespace std::chrono_literals;

/// lines after the first one, counted from it
constexpr std::array<Clock::duration, 3> steps{1s, 10s, 60s};
/// pause between lines after these
constexpr Clock::duration long_step = 10min;
/// after this time without an occurrence, the next one is news
constexpr Clock::duration quiet = 1min;
/// the end of a shorter cause is not logged
constexpr Clock::duration shortest_worth_an_end = 1s;

Instant next_step(Instant start, Instant now) noexcept
{
    for (auto const step : steps)
        if (start + step > now)
            return start + step;
    return now + long_step;
}

} // namespace

bool RepeatSchedule::is_over(Instant now) const noexcept
{
    if (last_ == Instant::min())
        return true;
    return more_ == 0 && (ends_ == Ends::by_itself || !lasts_) && now - last_ >= quiet;
}

std::optional<Repeated> RepeatSchedule::happened(Instant now, First first) noexcept
{
    bool const is_news = is_over(now);
    if (is_news) {
        start_ = last_line_ = now;
        next_ = first == First::at_once ? now : next_step(now, now);
        taken_early_ = false;
    }
    if (is_news || !lasts_) {
        began_ = now;
        total_ = 0;
        logged_ = false;
    }
    lasts_ = true;
    last_ = now;
    ++more_;
    ++total_;
    if (now < next_)
        return std::nullopt;
    return log(now);
}

Repeated RepeatSchedule::log(Instant now) noexcept
{
    Repeated const result{more_, now - last_line_, total_, now - began_};
    more_ = 0;
    last_line_ = now;
    logged_ = true;
    if (now >= next_) {
        next_ = next_step(start_, now);
        taken_early_ = false;
    }
    return result;
}

std::optional<Repeated> RepeatSchedule::take(Instant now) noexcept
{
    return more_ == 0 ? std::nullopt : std::optional(log(now));
}

std::optional<Repeated> RepeatSchedule::take_early(Instant now) noexcept
{
    if (more_ == 0 || (now < next_ && taken_early_))
        return std::nullopt;
    taken_early_ = true;
    return log(now);
}

std::optional<Repeated> RepeatSchedule::end(Instant now) noexcept
{
    if (!std::exchange(lasts_, false))
        return std::nullopt;
    // the end tells of them
    more_ = 0;
    auto const lasting = now - began_;
    if (!logged_ || lasting < shortest_worth_an_end)
        return std::nullopt;
    return Repeated{0, now - last_line_, total_, lasting};
}

std::string elapsed_text(Clock::duration duration)
{
    auto const whole = [](auto count, char const* unit, auto rest, char const* unit_of_rest) {
        auto text = std::to_string(count) + unit;
        return rest == 0 ? text : text + " " + std::to_string(rest) + unit_of_rest;
    };
    auto const seconds = std::chrono::floor<std::chrono::seconds>(duration).count();
    if (seconds < 1)
        return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count()) + " ms";
    if (seconds < 60)
        return std::to_string(seconds) + " s";
    if (seconds < 3600)
        return whole(seconds / 60, " min", seconds % 60, " s");
    return whole(seconds / 3600, " h", seconds % 3600 / 60, " min");
}

std::string how_often(Repeated const& repeated)
{
    if (repeated.total <= 1)
        return {};
    return "; " + std::to_string(repeated.total) + " times in " + elapsed_text(repeated.lasting);
}

} // namespace tenure
