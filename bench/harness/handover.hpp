// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/rounds.hpp"

#include <functional>
#include <memory>

namespace bench
{

/** Looks at a server from outside, to see that a waiter has nothing left to do but wait. */
class Observer
{
public:
    Observer() = default;
    Observer(Observer const&) = delete;
    Observer& operator=(Observer const&) = delete;
    virtual ~Observer() = default;

    /** The number of requests that others have sent to the server so far, in the unit that the server counts. */
    [[nodiscard]] virtual long long requests_of_others() = 0;
    /** Whether a client subscribes to releases, as of the last call of `requests_of_others`. */
    [[nodiscard]] virtual bool listened() const = 0;
};

/** A hand-over as it is measured: two players, each in a process of its own, and how to look at their server. */
struct Handover {
    /// plays the holder, with the descriptor of its Control
    std::function<void(int)> hold;
    /// plays the waiter
    std::function<void(int)> wait;
    /// made before the players begin
    std::function<std::unique_ptr<Observer>()> observe;
};

/** Conducts that many hand-overs, and some before that are not counted. @returns p50 and p10, from just before the
 * release to the grant in the other process, in microseconds */
[[nodiscard]] Measurement conduct(unsigned times, Handover const& handover);

} // namespace bench
