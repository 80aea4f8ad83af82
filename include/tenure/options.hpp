// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace tenure
{

/** When the cancellation token of a lease is cancelled. */
enum class CancelWhen {
    /// when the lease is proven lost, or `notice` before its validity ends: an outage of the store up to
    /// `tolerated_outage()` of the lock or pool costs nothing
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
 * made.
 *
 *  @par Thread safety  Options and configs are plain values: they are copied where they are taken, and not looked at
 *  afterwards. */
struct LeaseOptions {
    /// how long before `valid_until` the token is cancelled: the time the work needs to stop. 0: ttl/10, at least 20
    /// ms. At most ttl/3
    std::chrono::milliseconds notice{0};
    CancelWhen cancel_when = CancelWhen::loss;
    Renewal renewal = Renewal::automatic;
    /// time from one renewal to the next, up to a tenth less to spread the load. 0: ttl/3. The lock or pool refuses
    /// what is too long to send a lost renewal again before the token is cancelled: at most 0.64 ttl - 10 ms with the
    /// default notice, in general 0.74 ttl - 10 ms - notice. A longer interval tolerates shorter outages. For a lease
    /// whose ttl is shorter than that of the lock or pool the limit is that of its own ttl
    std::chrono::milliseconds renew_interval{0};
    /// the token is cancelled, and renewal ends, after this time however well the store answers. 0: no limit
    std::chrono::milliseconds max_hold{0};
    /// ask the store for a fencing token with each grant
    bool fencing = true;
    /// subscribe to releases while waiting, and announce one's own; without it waiters poll
    bool notifications = true;
    /// the longest pause between two claims of a waiter, milliseconds, 10 ms to 1 minute: how late it may notice a key
    /// that another program has freed without an announcement. On Redis a waiter asks every 50 to 90 ms, but pauses at
    /// least 100 times as long as its claim takes
    std::chrono::milliseconds max_poll_interval{1'000};
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
    /// of a pool: the number to try first, below the pool's size. The number is not waited for. If it is held, or rests
    /// (`SlotPoolConfig::reuse_after`), the acquisition asks for any number at once, which costs one claim more. An
    /// acquisition that has to wait for others of its store takes any number. Locks refuse it. Unset: any number
    std::optional<std::uint32_t> prefer = std::nullopt;
};

} // namespace tenure
