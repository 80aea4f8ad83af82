// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "arena.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tenure::faults
{

struct Options {
    std::string store = "redis";
    /// how long faults are made
    std::chrono::milliseconds time{150'000};
    std::uint64_t seed = 1;
    /// a bug that is planted in the workers' library
    std::string mutant = "none";
    std::size_t workers = 10;
    /// the keys that they contend for
    std::uint32_t slots = Arena{}.slots;
    std::uint32_t locks = Arena{}.locks;
    /// the locks are fair locks (f), read-write locks (r) and semaphores (s) in turn; empty: plain ones
    std::string kinds;
    /// makes no faults
    bool calm = false;
    /// makes only faults whose names contain this
    std::string only;
    /// ends at the first violation, and succeeds only with one
    bool expect_violation = false;
    bool help = false;
};

/** @throws std::invalid_argument naming the option and what is wrong with it */
[[nodiscard]] Options read_options(int count, char const* const* arguments);

[[nodiscard]] char const* usage() noexcept;

} // namespace tenure::faults
