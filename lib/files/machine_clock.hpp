// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>

#include <cstdint>
#include <string>

namespace tenure
{

/// nanoseconds of the machine's CLOCK_BOOTTIME, which all its processes share
using BootTime = std::int64_t;

/** Converts the instants of this process to the machine's clock: a time namespace shifts the first and not the second.
 */
class MachineClock
{
public:
    /** Reads the offset of the process's time namespace. @throws std::runtime_error saying why it is unknown
     *  @param proc  "/proc", for tests */
    explicit MachineClock(std::string const& proc = "/proc");

    [[nodiscard]] BootTime at(Instant instant) const noexcept { return instant.time_since_epoch().count() - offset_; }

private:
    /// nanoseconds by which the clock of this process is ahead of the machine's
    std::int64_t offset_ = 0;
};

} // namespace tenure
