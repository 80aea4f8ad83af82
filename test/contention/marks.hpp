// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tenure::contention
{

/** What a file of marks says. Each contender, in whatever language, appends a line right after it was granted the key,
 *  and one right before it gives the key back: `NAME in|out NANOSECONDS SHARES`. The clock is CLOCK_MONOTONIC, and
 * SHARES is 1 for readers. */
struct Verdict {
    std::map<std::string, std::size_t> grants;
    /// how often one entered while another one was there, and one of them was no reader
    std::size_t double_holdings = 0;
    /// how often a reader entered beside readers only
    std::size_t readers_together = 0;
    /// the first double holdings, in words
    std::string examples;
};

[[nodiscard]] Verdict judge(std::string const& marks);

} // namespace tenure::contention
