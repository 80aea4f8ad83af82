// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "store/zookeeper/client/request.hpp"

#include <tenure/backend/deadline.hpp>
#include <tenure/clock.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tenure::zookeeper
{

/** Which of the waiting requests of a session leaves first; first in, first out among equals. */
enum class Urgency : std::uint8_t {
    /// what a held lease depends on
    proof,
    /// releases, withdrawals and the next steps of claims that have begun; also queries
    later_step,
    /// the first step of a claim
    first_step
};

/** How a request waits. */
struct Terms {
    Urgency urgency = Urgency::later_step;
    /// of the whole request that this is a step of: only first steps and proofs are dropped when it is over
    Deadline deadline{Instant::max()};
    /// becomes true when the owner is given back: its steps that were not sent are dropped. Null: no owner
    std::shared_ptr<bool const> given_back = nullptr;
};

/** Requests of a session that wait for their turn on its connection. Pure: no I/O, no clock.
 *
 *  A server answers a connection in order, so a request that has left waits for all that left before it. The limit of
 *  unanswered requests is therefore the longest way of an urgent one. */
class RequestQueue
{
public:
    /// unanswered requests on one connection; on loopback 10,000 claims take 1.4 to 2.6 s with any limit from 32 to 512
    static constexpr std::size_t unanswered_limit = 64;

    /// between two reports of progress, which is far less than the patience of an acquisition
    static constexpr std::chrono::milliseconds progress_pause{20};

    struct Queued {
        Request request;
        ResponseHandler handler;
        Terms terms;

        /** True if it must not leave: its time is over, or its owner has given up. */
        [[nodiscard]] bool over(Instant now) const noexcept
        {
            return (terms.given_back != nullptr && *terms.given_back) ||
                   (terms.urgency != Urgency::later_step && terms.deadline.over(now));
        }
    };

    void push(Queued one) { queue(one.terms.urgency).push_back(std::move(one)); }

    /** The request that leaves next; nullopt: none waits, or the connection is full. */
    [[nodiscard]] std::optional<Queued> next()
    {
        if (unanswered_.size() >= unanswered_limit)
            return std::nullopt;
        for (auto& queue : queues_)
            if (!queue.empty()) {
                std::optional<Queued> one(std::move(queue.front()));
                queue.pop_front();
                return one;
            }
        return std::nullopt;
    }
    /** A request has left. */
    void sent(Deadline deadline, Instant now)
    {
        deadline.progressed(now);
        unanswered_.push_back(std::move(deadline));
    }
    /** The oldest request that left was answered, or cannot be answered any longer. */
    void answered() noexcept { unanswered_.pop_front(); }
    /** The server has answered something: the requests that have left are on their way, and are not repeated. */
    void progressed(Instant now)
    {
        if (now - last_progress_ < progress_pause)
            return;
        last_progress_ = now;
        for (auto const& deadline : unanswered_)
            deadline.progressed(now);
    }

    /** Takes all that wait, the most urgent first. */
    [[nodiscard]] std::vector<Queued> take_all()
    {
        std::vector<Queued> all;
        for (auto& queue : queues_) {
            std::move(queue.begin(), queue.end(), std::back_inserter(all));
            queue.clear();
        }
        return all;
    }
    [[nodiscard]] bool empty() const noexcept { return queues_[0].empty() && queues_[1].empty() && queues_[2].empty(); }

private:
    [[nodiscard]] std::deque<Queued>& queue(Urgency urgency) { return queues_.at(static_cast<std::size_t>(urgency)); }

    /// by urgency
    std::array<std::deque<Queued>, 3> queues_;
    /// of the requests that have left and were not answered, in order
    std::deque<Deadline> unanswered_;
    Instant last_progress_{};
};

} // namespace tenure::zookeeper
