// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/api.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

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

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(CancelWhen when) noexcept;

/** The party that renews a lease. */
enum class Renewal {
    /// the library, in the background, until release
    automatic,
    /// the holder, by `Lease::async_renew`
    manual
};

/** The name of the enumerator, for logs. */
[[nodiscard]] TENURE_API std::string_view to_string(Renewal renewal) noexcept;

/** How a lease is held; the defaults suit most work. The constructor of a pool or lock checks the durations.
 *
 *  @par Thread safety  Options and configs are plain values: functions copy them and do not refer to them afterwards.
 */
struct LeaseOptions {
    /// how long before `valid_until` the token is cancelled: the time the work needs to stop; 1 ms to ttl/3. Unset:
    /// ttl/10, at least 20 ms
    std::optional<std::chrono::milliseconds> notice = std::nullopt;
    /// when the token is cancelled
    CancelWhen cancel_when = CancelWhen::loss;
    /// who renews the lease
    Renewal renewal = Renewal::automatic;
    /// time from one renewal to the next, up to a tenth less to spread the load. Unset: ttl/3. The interval must leave
    /// time to retry a lost renewal before the token is cancelled; the lock or pool refuses a longer one. The limit is
    /// 0.74 ttl - 10 ms - notice: 0.64 ttl - 10 ms with the default notice and a ttl of 200 ms or more. A longer
    /// interval tolerates shorter outages. A lease with a shorter ttl than the lock or pool has the limit of its own
    /// ttl
    std::optional<std::chrono::milliseconds> renew_interval = std::nullopt;
    /// after this time the token is cancelled and renewal ends, even if the store answers. Unset: no limit
    std::optional<std::chrono::milliseconds> max_hold = std::nullopt;
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

/** A wait that may be unset, from any duration: rounded up to milliseconds, and `forever` beyond these. */
class Wait : public std::optional<std::chrono::milliseconds>
{
public:
    /** Unset. */
    constexpr Wait() noexcept = default;
    /** Unset. */
    constexpr Wait(std::nullopt_t) noexcept {}
    /** Rounds up. */
    template <class Rep, class Period>
    constexpr Wait(std::chrono::duration<Rep, Period> duration) noexcept
        : optional(detail::wait_of(duration))
    {
    }
    /** The same wait. */
    constexpr Wait(std::optional<std::chrono::milliseconds> wait) noexcept
        : optional(wait)
    {
    }
};

/** Options of one acquisition. Trivially destructible on purpose: safe as a temporary inside a co_await expression. */
struct AcquireOptions {
    /// total time from the call until the acquisition gives up, including time in which the store is unavailable. 0
    /// tries once; unset: the default of the operation, which is 30 s for `async_acquire` and `forever` for `async_run`
    /// and `Election::async_campaign`
    Wait wait = std::nullopt;
    /// ttl of this lease; unset: the ttl of the pool or lock
    std::optional<std::chrono::milliseconds> ttl = std::nullopt;
    /// of a pool: the number to try first, below the pool's size. The acquisition does not wait for this number. If it
    /// is held or in quarantine (`SlotPoolConfig::reuse_after`), the acquisition claims any number at once, which costs
    /// one more claim. An acquisition that has to wait for others of its store takes any number. Locks refuse it.
    /// Unset: any number
    std::optional<std::uint32_t> prefer = std::nullopt;
    /// of a semaphore: how many permits to take, all or none; 1 to `SemaphoreConfig::permits`. Everything else refuses
    /// another value than 1
    std::uint32_t permits = 1;
};

namespace detail
{

template <class T>
inline constexpr bool is_duration = false;
template <class Rep, class Period>
inline constexpr bool is_duration<std::chrono::duration<Rep, Period>> = true;

/** How an acquisition can be described: by its options, or by its wait alone. */
template <class T>
concept AcquireArgument = std::convertible_to<T, AcquireOptions const&> || is_duration<std::remove_cvref_t<T>>;

[[nodiscard]] constexpr AcquireOptions acquire_options(AcquireOptions const& options) noexcept
{
    return options;
}
template <class Rep, class Period>
[[nodiscard]] constexpr AcquireOptions acquire_options(std::chrono::duration<Rep, Period> wait) noexcept
{
    return {.wait = wait};
}

/** The options with this wait where they name none. */
[[nodiscard]] constexpr AcquireOptions
with_default_wait(AcquireOptions options, std::chrono::milliseconds wait) noexcept
{
    options.wait = options.wait.value_or(wait);
    return options;
}

} // namespace detail
} // namespace tenure
