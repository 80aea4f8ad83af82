// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/style.hpp"

#include <tenure/log.hpp>

#include <string_view>

namespace tenure::tool
{

/** Messages of the program on standard error, one line each: standard output belongs to results, and to
 * the command of `tenure run`. */
class Report
{
public:
    /** @param verbosity  0: warnings and errors; 1: also what happens; 2: debug; 3: everything */
    explicit Report(int verbosity, ColorChoice color = ColorChoice::automatic) noexcept;

    void operator()(LogLevel level, std::string_view text) const;
    /** Whatever the verbosity. */
    void say(std::string_view text) const;
    void error(std::string_view text) const { (*this)(LogLevel::error, text); }
    void warning(std::string_view text) const { (*this)(LogLevel::warning, text); }
    void info(std::string_view text) const { (*this)(LogLevel::info, text); }

    /** Whether a line of this level is written at all. */
    [[nodiscard]] bool writes(LogLevel level) const noexcept { return level >= threshold_; }

    /** For a store's log lines, and from which level on they are of use. */
    [[nodiscard]] LogSink sink() const;
    [[nodiscard]] LogLevel level() const noexcept { return threshold_; }

private:
    void write(LogLevel level, std::string_view text) const;

    LogLevel threshold_;
    bool color_;
};

} // namespace tenure::tool
