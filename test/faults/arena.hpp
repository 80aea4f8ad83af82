// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tenure::faults
{

/** The keys that workers contend for: the slots of one pool and a few locks. A key is known by its cell in the auditor:
 * the slots first, then the locks. */
struct Arena {
    std::uint32_t slots = 5;
    std::uint32_t locks = 3;
    /// G of docs/users/guarantees.md
    std::chrono::milliseconds ttl{1500};
    /// a key is free as soon as its holder's process is dead
    bool frees_at_death = false;
    /// what the locks are, in turn: f for a fair lock, r for a read-write lock, s for a semaphore. Empty: plain locks
    std::string kinds = {};

    [[nodiscard]] std::uint32_t cells() const noexcept { return slots + locks; }
    [[nodiscard]] std::int64_t ttl_ns() const noexcept { return std::chrono::nanoseconds{ttl}.count(); }

    /** The kind of a cell, if the locks are held in shares. */
    [[nodiscard]] char kind(std::uint32_t cell) const { return kinds.at((cell - slots) % kinds.size()); }

    static constexpr char const* prefix = "faults:slot:";
    [[nodiscard]] std::string lock_key(std::uint32_t lock) const { return "faults:lock:" + std::to_string(lock); }
    [[nodiscard]] std::string key(std::uint32_t cell) const
    {
        return cell < slots ? prefix + std::to_string(cell) : lock_key(cell - slots);
    }
    /** The store's own expiry is not before this instant, given the instant up to which a holder relies on its lease
     * (docs/users/guarantees.md: G/100 and 10 ms less). */
    [[nodiscard]] std::int64_t expiry(std::int64_t valid_until) const noexcept
    {
        return valid_until + ttl_ns() / 100 + 10'000'000;
    }
};

} // namespace tenure::faults
