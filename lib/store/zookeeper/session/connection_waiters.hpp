// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/deadline.hpp>
#include <tenure/backend/one_shot.hpp>
#include <tenure/clock.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

/** Requests that wait for a connection. Adding one costs the logarithm of their number. Pure: no I/O, no clock. */
class ConnectionWaiters
{
public:
    /** Null: connected. */
    using Handler = OneShot<void(Failure const*)>;

    void add(Deadline deadline, Handler handler)
    {
        auto const at = deadline.at();
        waiting_.emplace(++last_, Waiting{std::move(deadline), std::move(handler)});
        by_deadline_.emplace(at, last_);
    }
    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
    /** The earliest deadline; the maximum if none has one. */
    [[nodiscard]] Instant earliest() const noexcept
    {
        return by_deadline_.empty() ? Instant::max() : by_deadline_.begin()->first;
    }

    /** Takes those whose deadline has passed. */
    [[nodiscard]] std::vector<Handler> take_late(Instant now)
    {
        std::vector<Handler> taken;
        while (!by_deadline_.empty() && by_deadline_.begin()->first <= now)
            taken.push_back(take(waiting_.find(by_deadline_.begin()->second)));
        return taken;
    }
    /** Takes those for which `fits(Deadline const&)` is true, in order of arrival. */
    template <class Fits>
    [[nodiscard]] std::vector<Handler> take_if(Fits fits)
    {
        std::vector<Handler> taken;
        for (auto one = waiting_.begin(); one != waiting_.end();)
            if (auto const here = one++; fits(here->second.deadline))
                taken.push_back(take(here));
        return taken;
    }

private:
    struct Waiting {
        Deadline deadline;
        Handler handler;
    };
    using Map = std::map<std::uint64_t, Waiting>;

    [[nodiscard]] Handler take(Map::iterator one)
    {
        by_deadline_.erase({one->second.deadline.at(), one->first});
        auto handler = std::move(one->second.handler);
        waiting_.erase(one);
        return handler;
    }

    /// by number, so the oldest is first
    Map waiting_;
    std::set<std::pair<Instant, std::uint64_t>> by_deadline_;
    std::uint64_t last_ = 0;
};

} // namespace tenure::zookeeper
