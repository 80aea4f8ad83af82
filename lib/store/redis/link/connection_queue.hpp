// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "connection.hpp"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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
    /// when it was handed to the stream
    Instant since{};
    /// replies or confirmations still to come
    std::size_t missing = 1;
    /// where its first byte is in all that this connection wrote since it was connected
    std::uint64_t first_byte = 0;
};

/** The requests of a connection in order: first those that were written, then those that wait. A ring, so that a steady
 *  load allocates nothing here. */
class RequestQueue
{
public:
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /** How many of the first were written. */
    [[nodiscard]] std::size_t written() const noexcept { return written_; }
    [[nodiscard]] std::size_t waiting() const noexcept { return size_ - written_; }

    /** `index` counts from the oldest. */
    [[nodiscard]] Request& operator[](std::size_t index) noexcept { return *ring_[place(index)]; }
    [[nodiscard]] Request const& operator[](std::size_t index) const noexcept { return *ring_[place(index)]; }
    [[nodiscard]] Request& front() noexcept { return (*this)[0]; }
    [[nodiscard]] Request const& front() const noexcept { return (*this)[0]; }

    void push(resp::Command&& command, Deadline&& not_after, OutcomeHandler&& handler)
    {
        if (size_ == ring_.size())
            grow();
        ring_[place(size_)].emplace(std::move(command), std::move(not_after), std::move(handler));
        ++size_;
    }

    /** The oldest waiting request now counts as written. */
    void mark_written() noexcept
    {
        assert(waiting() > 0);
        ++written_;
    }

    /** The last written request waits again: not a byte of it left. */
    void unmark_written() noexcept
    {
        assert(written_ > 0);
        --written_;
    }

    void pop_front() noexcept
    {
        assert(size_ > 0);
        ring_[first_].reset();
        first_ = (first_ + 1) & (ring_.size() - 1);
        --size_;
        if (written_ > 0)
            --written_;
    }

    /** Takes out each waiting request for which `is_over` is true, in order, and hands it to `take`. */
    template <class Predicate, class Take>
    void take_waiting(Predicate is_over, Take take)
    {
        std::size_t kept = written_;
        for (std::size_t i = written_; i < size_; ++i) {
            auto& request = ring_[place(i)];
            if (is_over(*request)) {
                take(*std::exchange(request, std::nullopt));
            } else {
                if (kept != i)
                    ring_[place(kept)] = std::exchange(request, std::nullopt);
                ++kept;
            }
        }
        size_ = kept;
    }

private:
    [[nodiscard]] std::size_t place(std::size_t index) const noexcept { return (first_ + index) & (ring_.size() - 1); }

    void grow()
    {
        std::vector<std::optional<Request>> larger(ring_.empty() ? 16 : ring_.size() * 2);
        for (std::size_t i = 0; i < size_; ++i)
            larger[i] = std::move(ring_[place(i)]);
        ring_ = std::move(larger);
        first_ = 0;
    }

    /// a power of two long
    std::vector<std::optional<Request>> ring_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
    std::size_t written_ = 0;
};

} // namespace tenure::redis
