// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace tenure::fleet
{

/** The figures of one case on one store: a row of the table. */
struct Row {
    /// kind of store, and name of the case
    std::string store;
    std::string name;
    /// acquisitions that the case began, and how they ended. `failed`: with another error than `timed_out`
    std::uint64_t asked = 0;
    std::uint64_t granted = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t failed = 0;
    /// leases that ended without a release
    std::uint64_t lost = 0;
    /// renewals that stayed unanswered, for each lease that the case held: each costs the server another one
    double unanswered = 0;
    /// renewals that a server refused, or for which there was no connection, for each lease
    double refused = 0;
    /// the least time between a renewal and the cancellation that it prevented; 0: nothing was renewed
    std::chrono::nanoseconds margin{};
    /// from the first acquisition to the end of the case
    std::chrono::nanoseconds time{};
    /// of the client's thread in that time
    std::chrono::nanoseconds cpu{};
    /// lines that the store has logged
    std::uint64_t lines = 0;
    /// figures that only this case has
    std::string note;
    /// rules that were broken, with their figures; empty: the row passed
    std::vector<std::string> breaches;
    /// errors with their number and the first log lines, to explain breaches
    std::vector<std::string> evidence;
};

/** For tables and messages. */
[[nodiscard]] std::string two_decimals(double number);

/** The names of the columns. */
void print_header(std::ostream& out);
/** One line, in columns as wide as those of the header. */
void print_row(std::ostream& out, Row const& row);
/** The broken rules and the evidence, if there are any. */
void print_breaches(std::ostream& out, Row const& row);

} // namespace tenure::fleet
