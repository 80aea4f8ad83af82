// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "layout.hpp"

#include <tenure/backend/backend.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <variant>

namespace tenure::file
{

/** Converts the instants of this process to the machine's clock: a time namespace shifts the first and not the second.
 */
class MachineClock
{
public:
    /** Reads the offset of the process's time namespace.
     *  @param proc  "/proc", for tests */
    [[nodiscard]] static std::variant<MachineClock, Failure> read(std::string const& proc = "/proc");

    [[nodiscard]] BootTime at(Instant instant) const noexcept { return instant.time_since_epoch().count() - offset_; }
    [[nodiscard]] std::chrono::nanoseconds offset() const noexcept { return std::chrono::nanoseconds(offset_); }

private:
    /// nanoseconds by which the clock of this process is ahead of the machine's
    std::int64_t offset_ = 0;
};

} // namespace tenure::file
