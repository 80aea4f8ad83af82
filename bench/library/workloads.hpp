// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/rounds.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>

/** The same work as in raw/workloads.hpp, by the public interface: coroutines on one io_context and one thread. */
namespace bench::library
{

/** The features that a grant may carry beyond the bare key. */
struct Features {
    bool fencing = false;
    bool notifications = false;
    /// of a lock: waiters have places, strictly first come, first served
    bool fair = false;
};
/// the defaults of the library
inline constexpr Features by_default{true, true};
inline constexpr Features plain{false, false};
inline constexpr Features fair{true, true, true};

/** That many coroutines, each acquiring and releasing a lock of its own.
 *  @param server  the process whose CPU is reported, 0: none
 *  @returns pairs per second, microseconds of CPU per pair of the client, and of the server */
[[nodiscard]] Measurement
pairs(std::string const& url, unsigned keys, double seconds, Features features, pid_t server = 0);

/** That many coroutines, each acquiring and releasing a slot of one pool with as many slots.
 *  @returns as `pairs` */
[[nodiscard]] Measurement
pool_pairs(std::string const& url, unsigned size, double seconds, Features features, pid_t server = 0);

/** 16 coroutines, each acquiring and releasing one permit of a semaphore of which `held` permits are held all the time.
 *  @returns as `pairs` */
[[nodiscard]] Measurement semaphore_pairs(std::string const& url, unsigned held, double seconds, pid_t server);

/** Stores of one process on one lock. Each holds it for 1 ms, and wants it again.
 *  @returns p50 from just before a release to the grant of another store, in microseconds, and hand-overs per second */
[[nodiscard]] Measurement hand_round(std::string const& url, unsigned stores, double seconds, Features features);

/** 16 readers and 4 writers of one key, each writer with a store of its own; every lease is held for 2 ms.
 *  @param one_place  the readers ask one after another, so that at most one of them has a place that waits
 *  @returns reads per second, and writes */
[[nodiscard]] Measurement reads(std::string const& url, bool one_place, double seconds);

/** One coroutine, one lock. @returns p50 of a pair in microseconds */
[[nodiscard]] Measurement pair_latency(std::string const& url, unsigned pairs, Features features);

/** One coroutine, one MultiLock of that many keys. @returns p50 of a pair in microseconds */
[[nodiscard]] Measurement multi_latency(std::string const& url, unsigned keys, unsigned pairs, Features features);

/** One coroutine that locks items of a SegmentedLock, which hashes them. @returns p50 of a pair in microseconds */
[[nodiscard]] Measurement segment_latency(std::string const& url, unsigned segments, unsigned pairs, Features features);

/** Acquires the only free slot, the last one of `keys`. @returns p50 in microseconds */
[[nodiscard]] Measurement first_free(std::string const& url, unsigned keys, unsigned times, Features features);

/** Holds all slots of that pool but the last one, and does not return. @param ready  gets a byte once they are held */
void hold_all_but_last(std::string const& url, unsigned keys, int ready);

/** Acquires a lock that its holder has, that many times.
 *  @returns nanoseconds of that and its release, and of that and the end of its ReentrantLease by destruction */
[[nodiscard]] Measurement reentry(std::string const& url, unsigned times);

/** Holds that many leases. @returns client CPU in percent of a core, renewals per lease and third of the ttl */
[[nodiscard]] Measurement renewals(std::string const& url, unsigned leases, unsigned ttl_ms, double seconds);

struct LeasesHeld {
    std::chrono::milliseconds ttl{};
    /// from when every lease has been renewed once
    double seconds = 0;
    /// a server that is paused for `paused_for` after that time; 0: none
    pid_t server = 0;
    std::chrono::milliseconds paused_for{};
};

/** Takes `leases` leases, `in_flight` at a time, and holds them all. All must be valid in the end.
 *  @returns bytes of each as malloc counts them, and as the kernel does, and client CPU in percent of a core. If the
 *  server is paused: also, from the pause until a ttl after it, failed renewals of each lease, and all renewals of each
 *  over those of an equal time without a pause; and bytes of each after that, as malloc counts them */
[[nodiscard]] Measurement
hold_many(std::string const& url, unsigned leases, unsigned in_flight, LeasesHeld const& held);

/** The two ends of a hand-over; see figures/handover.cpp for what passes through `control`. */
void hold(std::string const& url, int control, Features features);
void wait(std::string const& url, int control, Features features);

} // namespace bench::library
