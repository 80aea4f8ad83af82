// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/style.hpp"

#include <tenure/log.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>
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
    /** Is written at every verbosity. */
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

/** Brings a store's log lines into a picture, where they must not be written to the terminal past it. The lines may
 * come on any thread, and even after the picture is gone: then they go to the report. */
class LogRelay
{
public:
    using Handler = std::function<void(LogLevel, std::string)>;

    /** @param handler  called on the executor, until this object goes: on the thread that runs the executor */
    LogRelay(boost::asio::any_io_executor executor, Handler handler);
    LogRelay(LogRelay const&) = delete;
    LogRelay& operator=(LogRelay const&) = delete;
    ~LogRelay();

    /** Takes the lines that the report would write. */
    [[nodiscard]] LogSink sink(Report const& report) const;

private:
    struct State;

    std::shared_ptr<State> state_;
};

} // namespace tenure::tool
