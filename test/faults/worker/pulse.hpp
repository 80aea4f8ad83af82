// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/auditor.hpp"
#include "harness/immovable.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>

namespace tenure::faults
{

/** Turns with the worker's loop and remembers when the loop, or the whole process, did not. */
class Pulse : test::Immovable
{
public:
    explicit Pulse(boost::asio::any_io_executor executor)
        : timer_(std::move(executor))
        , last_(test::boottime_ns())
    {
        wait();
    }
    ~Pulse() = default;

    void stop()
    {
        stopped_ = true;
        timer_.cancel();
    }

    /** The longest time without a turn that touches the interval. */
    [[nodiscard]] std::int64_t longest_stall(std::int64_t from, std::int64_t to) const
    {
        std::int64_t longest = to > last_ ? to - last_ : 0;
        for (auto const& stall : stalls_)
            if (stall.begin <= to && from <= stall.end)
                longest = std::max(longest, stall.end - stall.begin);
        return longest;
    }

private:
    struct Stall {
        std::int64_t begin;
        std::int64_t end;
    };

    void wait()
    {
        timer_.expires_after(std::chrono::milliseconds{5});
        timer_.async_wait([this](boost::system::error_code error) {
            // a turn that was due already can no longer be cancelled
            if (error || stopped_)
                return;
            auto const now = test::boottime_ns();
            if (now - last_ > 15'000'000)
                stalls_.push_back({last_, now});
            while (!stalls_.empty() && stalls_.front().end < now - 10'000'000'000)
                stalls_.pop_front();
            last_ = now;
            wait();
        });
    }

    boost::asio::steady_timer timer_;
    bool stopped_ = false;
    /// the last turn
    std::int64_t last_;
    /// the stalls of the last ten seconds
    std::deque<Stall> stalls_;
};

} // namespace tenure::faults
