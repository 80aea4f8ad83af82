// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"
#include "runtime/names.hpp"

#include <tenure/backend/deadline.hpp>
#include <tenure/clock.hpp>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <boost/circular_buffer.hpp>

namespace tenure::redis
{

/** One command on its way, from `execute` to its outcome. */
struct Request {
    Request(resp::Command&& what, Deadline&& until, OutcomeHandler&& whose) noexcept
        : command(std::move(what))
        , not_after(std::move(until))
        , handler(std::move(whose))
    {
    }

    resp::Command command;
    Deadline not_after;
    OutcomeHandler handler;
    /// counts the requests of a connection, in the order in which they came
    std::uint64_t number = 0;
    /// when it was handed to the stream
    Instant since{};
    /// replies or confirmations still to come
    std::size_t missing = 1;
    /// of these, how many were expected when it was written
    std::size_t expected = 1;
    /// replies that the server owed when it was written, including its own
    std::size_t place = 1;
    /// where its first byte is in all that this connection wrote since it was connected
    std::uint64_t first_byte = 0;
};

/** Requests in the order in which they came. A ring, so that a steady load allocates nothing here. */
class RequestRing
{
public:
    [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }
    [[nodiscard]] bool empty() const noexcept { return requests_.empty(); }
    [[nodiscard]] Request& front() noexcept { return requests_.front(); }
    [[nodiscard]] Request const& front() const noexcept { return requests_.front(); }
    [[nodiscard]] Request& back() noexcept { return requests_.back(); }

    void push_back(Request&& request)
    {
        make_room();
        requests_.push_back(std::move(request));
    }
    void push_front(Request&& request)
    {
        make_room();
        requests_.push_front(std::move(request));
    }
    void pop_front() noexcept
    {
        assert(!empty());
        requests_.pop_front();
        if (requests_.empty() && requests_.capacity() > kept_capacity)
            Ring().swap(requests_); // the memory of a crowd is not kept
    }
    void pop_back() noexcept { requests_.pop_back(); }

    /** Takes out each request for which `is_over` is true, in order, and hands it to `take`. */
    template <class Predicate, class Take>
    void take_if(Predicate is_over, Take take)
    {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            if (is_over(std::as_const(requests_[i])))
                take(std::move(requests_[i]));
            else if (kept++ != i)
                requests_[kept - 1] = std::move(requests_[i]);
        }
        requests_.erase_end(size() - kept);
    }

    template <class Look>
    void for_each(Look look) const
    {
        for (auto const& request : requests_)
            look(request);
    }

private:
    using Ring = boost::circular_buffer<Request>;

    void make_room()
    {
        if (requests_.full())
            requests_.set_capacity(requests_.empty() ? 16 : requests_.capacity() * 2);
    }

    static constexpr std::size_t kept_capacity = 1024;

    Ring requests_;
};

/** The requests of a connection: the written ones in the order of their answers, and the waiting ones by urgency. */
class RequestQueue
{
public:
    [[nodiscard]] bool empty() const noexcept { return written_.empty() && waiting() == 0; }
    [[nodiscard]] std::size_t waiting() const noexcept
    {
        return waiting_[0].size() + waiting_[1].size() + waiting_[2].size();
    }
    [[nodiscard]] RequestRing& waiting(resp::Urgency urgency) noexcept
    {
        return waiting_[static_cast<std::size_t>(urgency)];
    }
    [[nodiscard]] RequestRing const& waiting(resp::Urgency urgency) const noexcept
    {
        return waiting_[static_cast<std::size_t>(urgency)];
    }
    [[nodiscard]] RequestRing& written() noexcept { return written_; }
    [[nodiscard]] RequestRing const& written() const noexcept { return written_; }

    /** Replies that the server owes to requests other than renewals. */
    [[nodiscard]] std::size_t owed() const noexcept { return owed_; }

    void push(Request&& request)
    {
        request.number = ++last_number_;
        auto& ring = waiting(request.command.urgency());
        ring.push_back(std::move(request));
    }

    /** The urgency of the waiting request that came first. Requires a waiting request. */
    [[nodiscard]] resp::Urgency oldest() const noexcept
    {
        auto const came = [this](std::size_t urgency) {
            return waiting_[urgency].empty() ? std::numeric_limits<std::uint64_t>::max()
                                             : waiting_[urgency].front().number;
        };
        std::size_t oldest = 0;
        for (std::size_t urgency = 1; urgency < waiting_.size(); ++urgency)
            if (came(urgency) < came(oldest))
                oldest = urgency;
        return static_cast<resp::Urgency>(oldest);
    }

    /** The oldest waiting request of this urgency now counts as written. */
    void mark_written(resp::Urgency urgency)
    {
        auto& ring = waiting(urgency);
        owed_ += weight(ring.front());
        ring.front().place = owed_;
        written_.push_back(std::move(ring.front()));
        ring.pop_front();
    }

    /** The last written request waits again: not a byte of it left. */
    void unmark_written()
    {
        owed_ -= weight(written_.back());
        auto& ring = waiting(written_.back().command.urgency());
        ring.push_front(std::move(written_.back()));
        written_.pop_back();
    }

    /** Removes the oldest written request. */
    void pop_written() noexcept
    {
        owed_ -= weight(written_.front());
        written_.pop_front();
    }

    /** As RequestRing, for all waiting requests. */
    template <class Predicate, class Take>
    void take_waiting(Predicate is_over, Take take)
    {
        for (auto& ring : waiting_)
            ring.take_if(is_over, take);
    }
    template <class Look>
    void for_each_waiting(Look look) const
    {
        for (auto const& ring : waiting_)
            ring.for_each(look);
    }

private:
    static std::size_t weight(Request const& request) noexcept
    {
        return request.command.urgency() == resp::Urgency::renewal ? 0 : request.expected;
    }

    RequestRing written_;
    /// by `resp::Urgency`
    std::array<RequestRing, 3> waiting_;
    /// see `owed`
    std::size_t owed_ = 0;
    /// see `Request::number`
    std::uint64_t last_number_ = 0;
};

} // namespace tenure::redis
