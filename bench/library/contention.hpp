// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "library/workloads.hpp"

#include <chrono>
#include <string>

namespace bench::library
{

/** Contenders for too few keys. Each has a Store of its own, holds what it gets, and wants it again at once. */
struct Contention {
    unsigned contenders = 8;
    /// 1: a Lock; more: a SlotPool with that many slots
    unsigned slots = 1;
    std::chrono::milliseconds hold{0};
    double seconds = 15;
    Features features = by_default;
};

/** Where the values of a contention's Measurement lie. */
enum ContentionColumn : std::size_t {
    /// of all contenders
    total_grants,
    /// milliseconds; of a wait that begins before the run or ends after it, the part within the run
    longest_wait,
    /// of one contender's waits, milliseconds; of the contender with the highest
    wait_p99,
    /// and of the others behind it
    first_contender
};

/** Each contender is a process. On a store inside one process (`memory://NAME`) each is a coroutine with its own Store,
 * all in one process. @returns as ContentionColumn says */
[[nodiscard]] Measurement contend(std::string const& url, Contention const& contention);

} // namespace bench::library
