// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/child_process.hpp"

#include <cstdint>
#include <string>

namespace tenure::faults
{

/** The fenced register's process. */
class RegisterProcess
{
public:
    struct Totals {
        std::uint64_t accepted = 0;
        std::uint64_t rejected = 0;
        std::uint64_t stale = 0;
    };

    /** Starts it; returns when it listens. */
    RegisterProcess(std::string const& program, std::string socket_path, std::string log);

    [[nodiscard]] std::string const& socket_path() const noexcept { return socket_path_; }
    /** Its log of stale writes that it accepted. */
    [[nodiscard]] std::string const& log() const noexcept { return log_; }
    [[nodiscard]] Totals totals() const;

private:
    std::string socket_path_;
    std::string log_;
    test::ChildProcess process_;
};

} // namespace tenure::faults
