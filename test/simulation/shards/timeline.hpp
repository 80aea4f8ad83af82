// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace tenure::simulation
{

/** What happens when; what falls on one instant happens in the order in which it was planned. */
class Timeline
{
public:
    [[nodiscard]] Instant now() const noexcept { return now_; }
    void at(Instant when, std::function<void()> what) { events_[{std::max(when, now_), ++last_}] = std::move(what); }

    void run_until(Instant end)
    {
        while (!events_.empty() && events_.begin()->first.first <= end) {
            auto const event = events_.extract(events_.begin());
            now_ = event.key().first;
            event.mapped()();
        }
        now_ = end;
    }

private:
    Instant now_ = Instant{} + std::chrono::hours{1};
    std::uint64_t last_ = 0;
    std::map<std::pair<Instant, std::uint64_t>, std::function<void()>> events_;
};

} // namespace tenure::simulation
