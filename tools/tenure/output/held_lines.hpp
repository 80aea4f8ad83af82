// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "output/report.hpp"

#include <tenure/log.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>

namespace tenure::tool
{

/** Holds a store's log lines back for a moment after the start. A program that fails at once says why itself, in one
 * line. A program that goes on writes the lines when the time is over or it has begun its work. */
class HeldLines
{
public:
    HeldLines(boost::asio::any_io_executor const& executor, Report report, std::chrono::milliseconds time);
    HeldLines(HeldLines const&) = delete;
    HeldLines& operator=(HeldLines const&) = delete;
    ~HeldLines();

    /** Takes lines on any thread, also after this object has gone. */
    [[nodiscard]] LogSink sink() const;

    /** Writes what was held back, and every later line at once. */
    void let_through();
    /** Drops what was held back and every later line: the program ends with a message of its own. */
    void drop();

private:
    struct State;

    std::shared_ptr<State> state_;
    /// lets the lines through
    boost::asio::steady_timer timer_;
};

} // namespace tenure::tool
