// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "attack.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tenure::faults
{

/** Makes one fault after the other, one every 2 to 5 seconds: a deck of all of them, shuffled by the seed, again and
 * again. */
class Nemesis
{
public:
    /** @param go_on  asked before each fault */
    Nemesis(std::vector<Disturbance> disturbances, Attack& attack, std::function<bool()> go_on);

    /** Runs until `attack.end`, or until the run is stopped. */
    void run();

private:
    /** One that is possible now. */
    void strike();
    void shuffle();

    std::vector<Disturbance> disturbances_;
    Attack& attack_;
    std::function<bool()> go_on_;
    /// numbers of disturbances; the last one comes next
    std::vector<std::size_t> deck_;
};

} // namespace tenure::faults
