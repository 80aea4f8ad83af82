// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "scheduler.hpp"
#include "time.hpp"

#include <tenure/key_range.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure::simulation
{

/** The ranges that the workers of a world contend for: a lock, a lock without fencing, and a pool. */
enum class RangeId : std::uint8_t { job, plain, slots };
constexpr std::size_t range_count = 3;

using KeyId = std::uint8_t;
constexpr std::size_t most_slots = 4;
constexpr std::size_t key_count = 2 + most_slots;

/** Stands for the text of an owner; 0: none. */
using OwnerId = std::uint64_t;
/** Under a key in quarantine. Owners are odd. */
constexpr OwnerId resting_owner = 2;

[[nodiscard]] inline OwnerId owner_id(std::string_view owner) noexcept
{
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (char const c : owner)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash | 1U;
}

[[nodiscard]] constexpr std::string_view name_of(RangeId range) noexcept
{
    return range == RangeId::job ? "job" : range == RangeId::plain ? "plain" : "slot:";
}
[[nodiscard]] inline RangeId range_id(KeyRange const& range) noexcept
{
    return range.prefix == "job" ? RangeId::job : range.prefix == "plain" ? RangeId::plain : RangeId::slots;
}
[[nodiscard]] constexpr KeyId key_of(RangeId range, std::uint32_t index) noexcept
{
    return static_cast<KeyId>(range == RangeId::slots ? 2 + index : static_cast<std::uint32_t>(range));
}
[[nodiscard]] constexpr RangeId range_of(KeyId key) noexcept
{
    return key >= 2 ? RangeId::slots : static_cast<RangeId>(key);
}

/** How bad the network and the machines are all the time, faults aside; chances are parts of ten thousand. */
struct Noise {
    std::uint32_t drop = 0;
    std::uint32_t repeat = 0;
    std::uint32_t hiccup = 0;
    std::uint32_t late_timer = 0;
    Ns shortest_delay = 200 * microsecond;
    Ns longest_delay = 2 * millisecond;
};

/// how long detached keys stay taken
constexpr Ns shortest_kept = 2 * second;
constexpr Ns longest_kept = 6 * second;

/// within which a process that was told to stop has nothing left to do: a second, and timers that are late
constexpr Ns shutdown_time = 1060 * millisecond;

/** The settings of a world, drawn from its seed. */
struct Settings {
    std::uint32_t processes = 3;
    std::uint32_t workers = 2;
    std::uint32_t slots = 2;
    std::array<Ns, range_count> ttl{};
    /// quarantine of the slots; 0: none
    Ns reuse_after = 0;
    Noise noise;
    /// the store tells of releases
    bool hints = true;
    /// the store keeps a line of waiters for each range
    bool line = false;
    /// waiters are told that keys may become free without any news
    bool silent_releases = false;
    /// holders change the ttl of their lease now and then
    bool resizes = false;
    /// holders leave their key to expire now and then
    bool detaches = false;
    /// of the lock without fencing; 0: none
    Ns max_hold = 0;
    /// of the lock without fencing
    bool fire_on_first_failure = false;
    /// releases of the lock without fencing are announced
    bool notifications_of_plain = true;
    /// further settings of a layer, for the description of the plan
    std::string more;

    /** How long a key of the range rests after its use. */
    [[nodiscard]] Ns rest_of(RangeId range) const noexcept { return range == RangeId::slots ? reuse_after : 0; }
};

/** The rules that must hold; docs/contributors/testing.md explains each of them. */
enum class Rule : std::uint8_t { none, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15, l1, l2, l4 };

[[nodiscard]] constexpr std::string_view name_of(Rule rule) noexcept
{
    constexpr std::array<std::string_view, 19> names{"none", "S1",  "S2",  "S3",  "S4",  "S5",  "S6", "S7", "S8", "S9",
                                                     "S10",  "S11", "S12", "S13", "S14", "S15", "L1", "L2", "L4"};
    return names.at(static_cast<std::size_t>(rule));
}

} // namespace tenure::simulation
