// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tenure::faults
{

/** A wall clock of its own for a server: the shim (test/harness/programs/wall_clock_shim.cpp) is loaded into it and
 * adds an offset, which lies in a shared file, to the machine's. CLOCK_MONOTONIC and CLOCK_BOOTTIME stay as they are.
 */
class WallClock : test::Immovable
{
public:
    /** Makes the file. */
    explicit WallClock(std::string path);
    ~WallClock();

    /** The environment that the server is started with. */
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> environment() const;

    /** Ahead of the machine's wall clock by this much, from now on. */
    void set(std::chrono::nanoseconds offset) noexcept;
    [[nodiscard]] std::chrono::nanoseconds offset() const noexcept;

    /** Nanoseconds by which this wall clock is ahead of CLOCK_BOOTTIME. */
    [[nodiscard]] std::int64_t ahead_of_boottime() const;

private:
    std::string path_;
    /// in the shared file
    std::int64_t* offset_;
};

} // namespace tenure::faults
