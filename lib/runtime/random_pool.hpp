// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tenure::engine
{

/** Unpredictable numbers from the system, fetched a page at a time, so that an owner needs no system call. For one
 *  thread at a time. */
class RandomPool
{
public:
    /** @throws std::system_error if the system has none */
    [[nodiscard]] std::uint64_t next()
    {
        if (next_ == numbers_.size())
            refill();
        // wiped when it is given out, because it may become part of an owner, which is a secret of its holder
        auto const number = numbers_[next_];
        numbers_[next_++] = 0;
        return number;
    }

private:
    void refill();

    std::array<std::uint64_t, 128> numbers_{};
    /// the first unused number
    std::size_t next_ = 128;
};

} // namespace tenure::engine
