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

/** The party that renews a lease. */
enum class Renewal {
    /// the library, in the background, until release
    automatic,
    /// the holder, by `Lease::async_renew`
    manual
};

/** How a lease is held; the defaults suit most work. The constructor of a pool or lock checks the durations.
 *
 *  @par Thread safety  Options and configs are plain values: functions copy them and do not refer to them afterwards.
 */
struct LeaseOptions {
    /// how long before `valid_until` the token is cancelled: the time the work needs to stop. 0: ttl/10, at least 20
    /// ms. At most ttl/3
    std::chrono::milliseconds notice{0};
    /// when the token is cancelled
    CancelWhen cancel_when = CancelWhen::loss;
    /// who renews the lease
    Renewal renewal = Renewal::automatic;
    /// time from one renewal to the next, up to a tenth less to spread the load. 0: ttl/3. The interval must leave time
    /// to retry a lost renewal before the token is cancelled; the lock or pool refuses a longer one. The limit is 0.74
    /// ttl - 10 ms - notice: 0.64 ttl - 10 ms with the default notice and a ttl of 200 ms or more. A longer interval
    /// tolerates shorter outages. A lease with a shorter ttl than the lock or pool has the limit of its own ttl
    std::chrono::milliseconds renew_interval{0};
    /// after this time the token is cancelled and renewal ends, even if the store answers. 0: no limit
    std::chrono::milliseconds max_hold{0};
    /// request a fencing token with each grant
    bool fencing = true;
    /// subscribe to releases while waiting, and announce the own release; without it waiters poll
    bool notifications = true;
    /// the longest pause between two claims of a waiter, milliseconds, 10 ms to 1 minute: how late it may notice a key
    /// that another program has freed without an announcement. On Redis a waiter polls every 50 to 90 ms, but pauses at
    /// least 20 times as long as its claim takes
    std::chrono::milliseconds max_poll_interval{1'000};
};

/** A wait time without limit. */
inline constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max();

namespace detail
{

/** The duration as a wait, rounded up; what milliseconds cannot express is `forever`. */
template <class Rep, class Period>
[[nodiscard]] constexpr std::chrono::milliseconds wait_of(std::chrono::duration<Rep, Period> duration) noexcept
{
    using Wide = std::chrono::duration<long double, std::milli>;
    return Wide(duration) >= Wide(forever) ? forever : std::chrono::ceil<std::chrono::milliseconds>(duration);
}

} // namespace detail

/** Options of one acquisition. Trivially destructible on purpose: safe as a temporary inside a co_await expression. */
struct AcquireOptions {
    /// total time from the call until the acquisition gives up, including time in which the store is unavailable. 0
    /// tries once; unset: the default of the operation, which is 30 s for `async_acquire` and `forever` for `async_run`
    std::optional<std::chrono::milliseconds> wait = std::nullopt;
    /// ttl of this lease; 0: the ttl of the pool or lock
    std::chrono::milliseconds ttl{0};
    /// of a pool: the number to try first, below the pool's size. The acquisition does not wait for this number. If it
    /// is held or in quarantine (`SlotPoolConfig::reuse_after`), the acquisition claims any number at once, which costs
    /// one more claim. An acquisition that has to wait for others of its store takes any number. Locks refuse it.
    /// Unset: any number
    std::optional<std::uint32_t> prefer = std::nullopt;
};

} // namespace tenure
