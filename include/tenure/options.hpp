// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <optional>

namespace tenure
{

/** When the token fires. */
enum class CancelWhen {
    /// when the lease is proven lost, or `notice` before its validity ends: a store that is away for a moment costs
    /// nothing
    loss,
    /// at the first renewal that fails or stays unanswered for ttl/6
    first_failed_renewal
};

/** Who renews. */
enum class Renewal {
    /// the library, in the background, until release
    automatic,
    /// the holder, by `Lease::async_renew`
    manual
};

/** How a lease is held; every field has a default that suits most work. Durations are checked where a pool or lock is
 * made. */
struct LeaseOptions {
    /// how long before `valid_until` the token fires: the time the work needs to stop. 0: ttl/10, at least 20 ms. At
    /// most ttl/3
    std::chrono::milliseconds notice{0};
    CancelWhen cancel_when = CancelWhen::loss;
    Renewal renewal = Renewal::automatic;
    /// time from one renewal to the next, where that is to be less than ttl/3. 0, or anything longer: ttl/3. More than
    /// half of what validity allows is refused
    std::chrono::milliseconds renew_interval{0};
    /// the token fires, and renewal ends, after this time however well the store answers. 0: no limit
    std::chrono::milliseconds max_hold{0};
    /// ask the store for a fencing token with each grant
    bool fencing = true;
    /// subscribe to releases while waiting, and announce one's own; without it waiters poll
    bool notifications = true;
    /// the longest pause between two claims of a waiter, milliseconds, 10 ms to 1 minute: how late it may notice a key
    /// that another program has freed without an announcement. On Redis a waiter asks every 50 to 90 ms, but pauses at
    /// least 100 times as long as its claim takes
    std::chrono::milliseconds longest_pause{1'000};
};

/** As a time to wait: without end. */
inline constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max();

/** Options of one acquisition. Trivially destructible on purpose: safe as a temporary inside a co_await expression. */
struct AcquireOptions {
    /// total time from the call until the acquisition gives up, trouble with the store included. 0 tries once; unset:
    /// the default of the operation, which is 30 s for `async_acquire` and `forever` for `async_run`
    std::optional<std::chrono::milliseconds> wait = std::nullopt;
    /// ttl of this lease; 0: that of the pool or lock
    std::chrono::milliseconds ttl{0};
};

} // namespace tenure
