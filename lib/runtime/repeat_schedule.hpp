// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tenure
{

/** The content of one log line about a cause that repeats. */
struct Repeated {
    /// occurrences since the last line, this one included
    std::uint64_t more = 0;
    /// time since the last line; zero for the first line
    Clock::duration since_line{};
    /// occurrences since the cause began, this one included
    std::uint64_t total = 0;
    /// time since the cause began
    Clock::duration lasting{};
};

/** Decides when a cause that repeats is logged: the first occurrence at once, then 1, 10 and 60 s after it, then every
 *  10 min, each time together with the occurrences since the last line. Knows no clock: the caller passes `now`. */
class RepeatSchedule
{
public:
    /// When a cause that occurs again is news, which is logged at once.
    enum class Ends {
        /// after a minute without an occurrence
        by_itself,
        /// after `end`, and then a minute without an occurrence
        when_told
    };
    /// When the first occurrence is logged.
    enum class First { at_once, after_a_second };

    explicit RepeatSchedule(Ends ends = Ends::by_itself) noexcept
        : ends_(ends)
    {
    }

    /** An occurrence. Set: log it now. Unset: it is counted, and `due` says when to log it. */
    [[nodiscard]] std::optional<Repeated> happened(Instant now, First first = First::at_once) noexcept;

    /** When counted occurrences are to be logged; Instant::max(): all are logged. */
    [[nodiscard]] Instant due() const noexcept { return more_ == 0 ? Instant::max() : next_; }

    /** Takes the counted occurrences, to log them now. Unset: all are logged. */
    [[nodiscard]] std::optional<Repeated> take(Instant now) noexcept;

    /** As `take`, before they are due. At most once between two times of the schedule, so that the number of lines
     *  stays bounded. */
    [[nodiscard]] std::optional<Repeated> take_early(Instant now) noexcept;

    /** The cause has ended. Set: what it was, if it was logged and lasted for a second. */
    [[nodiscard]] std::optional<Repeated> end(Instant now) noexcept;

    /** False: no occurrence since the last `end`. */
    [[nodiscard]] bool lasts() const noexcept { return lasts_; }

    /** True if the next occurrence would be news. */
    [[nodiscard]] bool is_over(Instant now) const noexcept;

private:
    [[nodiscard]] Repeated log(Instant now) noexcept;

    Ends ends_;
    /// an occurrence, and no `end` after it
    bool lasts_ = false;
    /// a line since the cause began
    bool logged_ = false;
    /// `take_early` was used since the last time of the schedule
    bool taken_early_ = false;
    /// the schedule counts from here
    Instant start_ = Instant::min();
    /// first occurrence since the last `end`
    Instant began_ = Instant::min();
    Instant last_ = Instant::min();
    Instant last_line_ = Instant::min();
    /// next time of the schedule
    Instant next_ = Instant::min();
    /// occurrences since the last line
    std::uint64_t more_ = 0;
    /// occurrences since `began_`
    std::uint64_t total_ = 0;
};

/** Elapsed time for a log line: "20 ms", "10 s", "3 min 2 s", "2 h 5 min". */
[[nodiscard]] std::string elapsed_text(Clock::duration duration);

/** For the end of a log line: empty for a first occurrence, else "; 312 times in 10 min". */
[[nodiscard]] std::string how_often(Repeated const& repeated);

} // namespace tenure
