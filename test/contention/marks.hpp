// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tenure::contention
{

/** The contents of a file of marks. Each contender, in whatever language, appends a line right after it was granted the
 * key, and one right before it gives the key back: `NAME in|out NANOSECONDS SHARES [TOKEN]`. The clock is
 * CLOCK_MONOTONIC, SHARES is 1 for readers, and TOKEN is the fencing token, or 0 for none. */
struct Verdict {
    std::map<std::string, std::size_t> grants;
    /// how often one entered while another one was there, and one of them was no reader
    std::size_t double_holdings = 0;
    /// how often a reader entered beside readers only
    std::size_t readers_together = 0;
    /// how often one entered with a token that was not greater than an earlier one
    std::size_t tokens_out_of_order = 0;
    /// the first double holdings, in words
    std::string examples;
};

[[nodiscard]] Verdict judge(std::string const& marks);

} // namespace tenure::contention
