// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"

#include <boost/circular_buffer.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tenure::redis
{

/** A pending command, from `execute` to its outcome. */
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
    /// when it was passed to the stream
    Instant since{};
    /// number of replies or confirmations that are still missing
    std::size_t missing = 1;
    /// position of its first byte among all bytes written on this connection
    std::uint64_t first_byte = 0;
};

/** The requests of a connection in order: first the written ones, then the waiting ones. A ring, so that a steady load
 *  does not allocate. */
class RequestQueue
{
public:
    [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }
    [[nodiscard]] bool empty() const noexcept { return requests_.empty(); }
    /** The number of written requests, which come first. */
    [[nodiscard]] std::size_t written() const noexcept { return written_; }
    [[nodiscard]] std::size_t waiting() const noexcept { return size() - written_; }

    /** @param index  counts from the oldest request */
    [[nodiscard]] Request& operator[](std::size_t index) noexcept { return requests_[index]; }
    [[nodiscard]] Request const& operator[](std::size_t index) const noexcept { return requests_[index]; }
    [[nodiscard]] Request& front() noexcept { return requests_.front(); }
    [[nodiscard]] Request const& front() const noexcept { return requests_.front(); }

    void push(Request&& request)
    {
        if (requests_.full())
            requests_.set_capacity(requests_.empty() ? 16 : requests_.capacity() * 2);
        requests_.push_back(std::move(request));
    }

    /** Counts the oldest waiting request as written. */
    void mark_written() noexcept
    {
        assert(waiting() > 0);
        ++written_;
    }

    /** Counts the last written request as waiting again, because no byte of it was sent. */
    void unmark_written() noexcept
    {
        assert(written_ > 0);
        --written_;
    }

    void pop_front() noexcept
    {
        assert(!empty());
        requests_.pop_front();
        if (written_ > 0)
            --written_;
    }

    /** Removes each waiting request for which `is_over` is true, in order, and passes it to `take`. */
    template <class Predicate, class Take>
    void take_waiting(Predicate is_over, Take take)
    {
        std::size_t kept = written_;
        for (std::size_t i = written_; i < size(); ++i) {
            if (is_over(std::as_const(requests_[i])))
                take(std::move(requests_[i]));
            else if (kept++ != i)
                requests_[kept - 1] = std::move(requests_[i]);
        }
        requests_.erase_end(size() - kept);
    }

private:
    boost::circular_buffer<Request> requests_;
    std::size_t written_ = 0;
};

} // namespace tenure::redis
