// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <store/memory/domain.hpp>
#include <testing/virtual_time.hpp>

#include <tenure/backend/one_shot.hpp>
#include <tenure/clock.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

namespace tenure::simulation
{

/** A server that answers a fixed number of requests a second, in the order in which they arrive. */
class SlowServer
{
public:
    SlowServer(testing::VirtualTime& time, Clock::duration per_request)
        : time_(time)
        , per_request_(per_request)
    {
    }

    /** Takes a request, which is executed when its turn comes. */
    void arrive(Task execute);
    /** It executes nothing for this long. */
    void stall(Clock::duration duration);

    [[nodiscard]] std::shared_ptr<memory::Domain> const& domain() const noexcept { return domain_; }
    [[nodiscard]] std::uint64_t executed() const noexcept { return executed_; }

private:
    void next();

    testing::VirtualTime& time_;
    Clock::duration per_request_;
    std::shared_ptr<memory::Domain> domain_ = memory::Domain::named("");
    std::deque<Task> queue_;
    bool busy_ = false;
    Instant stalled_until_{};
    std::uint64_t executed_ = 0;
};

} // namespace tenure::simulation
