// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "arena.hpp"
#include "ledger.hpp"
#include "random.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tenure::test
{
class Auditor;
}

namespace tenure::faults
{

class Fleet;

/** The tools of a disturbance. */
struct Attack {
    Arena const& arena;
    test::Auditor const& auditor;
    Random& random;
    Ledger& ledger;
    Fleet& fleet;
    /// time goes on, and whatever else is under way with it: processes that are stopped go on when they should
    std::function<void(std::chrono::milliseconds)> wait;
    /// how much longer than its ttl a key of now may live, because of what was done to the store's clock
    std::function<std::int64_t(std::int64_t)> expiry_delay;
    /// when the last fault has to be over, in ns of CLOCK_BOOTTIME
    std::int64_t end = 0;
};

/** One kind of fault. */
struct Disturbance {
    std::string name;
    /// how many times it comes in a deck
    unsigned often = 1;
    /// makes the fault, ends it, and enters it in the ledger; false: it was not possible just now
    std::function<bool(Attack&)> strike;
};

} // namespace tenure::faults
