// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/rounds.hpp"

#include <cstdint>
#include <string_view>

/** The same work as in library/workloads.hpp, by ready-made bytes on a blocking socket. */
namespace bench::raw
{

/** One key each for `keys` pairs of SET NX PX and compare-and-delete in flight, all on one connection: what is
 * ready leaves in one write.
 *  @returns pairs per second, microseconds of client CPU per pair */
[[nodiscard]] Measurement pairs(std::uint16_t port, unsigned keys, double seconds);

/** One pair after another. @returns p50 of a pair in microseconds */
[[nodiscard]] Measurement pair_latency(std::uint16_t port, unsigned pairs);

/** The same in an event loop: a coroutine on an Asio socket that reads one reply after another, and nothing else. All
 * latency that the library adds to this is its own. @returns p50 of a pair in microseconds */
[[nodiscard]] Measurement pair_latency_in_a_loop(std::uint16_t port, unsigned pairs);

/** How the releases of several keys leave together. */
enum class Together {
    /// a script call each, in one write
    write,
    /// one script call
    script
};

/** That many keys by SET NX PX in one write, and then all of them back. @returns p50 of a pair in microseconds */
[[nodiscard]] Measurement multi_latency(std::uint16_t port, unsigned count, unsigned pairs, Together together);

/** One SET after another, as `redis-benchmark -c 1` sends it. @returns microseconds per command */
[[nodiscard]] Measurement commands(std::uint16_t port, unsigned count);

/** Ways to find the first free key of a range by one script. */
enum class Scan {
    /// EXISTS of 64 keys at a time, then one at a time within the chunk that is not full
    exists_64_then_each,
    /// the same, then MGET of that chunk
    exists_64_then_mget,
    /// the same, then halving that chunk
    exists_64_then_halves,
    /// EXISTS of 128 keys at a time, then halving
    exists_128_then_halves
};

/** Prepares the next two workloads: another owner holds every key of the range except the last. */
void hold_all_but_last(std::uint16_t port, unsigned keys);

/** Takes the only free key, the last one of `keys`, by one script call. @returns p50 in microseconds */
[[nodiscard]] Measurement first_free(std::uint16_t port, Scan scan, unsigned keys, unsigned times);

/** The same by SET NX of one key after another. @returns p50 in microseconds */
[[nodiscard]] Measurement one_after_another(std::uint16_t port, unsigned keys, unsigned times);

/** Renews that many leases every third of the ttl, 100 keys to a script call. @returns client CPU, percent of a core */
[[nodiscard]] Measurement renewals(std::uint16_t port, unsigned leases, unsigned ttl_ms, double seconds);

/** The two ends of a hand-over; see figures/handover.cpp for what passes through `control`. */
void hold(std::uint16_t port, int control);
void wait(std::uint16_t port, int control);

} // namespace bench::raw
