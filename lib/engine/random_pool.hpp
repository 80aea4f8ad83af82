// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace tenure::engine
{

/** Unpredictable numbers from the system, fetched a page at a time: an owner costs no system call of its own. */
class RandomPool
{
public:
    /** @throws std::system_error if the system has none to give */
    [[nodiscard]] std::uint64_t next();

private:
    std::mutex mutex_;
    std::array<std::uint64_t, 128> numbers_{};
    /// first number not yet given out
    std::size_t next_ = 128;
};

} // namespace tenure::engine
