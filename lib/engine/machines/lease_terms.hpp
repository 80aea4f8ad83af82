// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>
#include <tenure/options.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace tenure::engine
{

using std::chrono::milliseconds;

/** When a lease is renewed, and when its token is cancelled. */
struct RenewalTerms {
    milliseconds notice{};
    /// zero: a third of the ttl that counts
    milliseconds renew_interval{};
    CancelWhen cancel_when = CancelWhen::loss;
    Renewal renewal = Renewal::automatic;
};

/** How one lease is acquired and held, all defaults filled in. */
struct LeaseTerms : RenewalTerms {
    milliseconds ttl{};
    /// zero: no limit
    milliseconds max_hold{};
    bool fencing = true;
    bool notifications = true;
    /// between two claims of a waiter
    milliseconds max_poll_interval{1000};
    /// how long the key rests after the lease
    milliseconds reuse_after{};
};

/** Fills in the defaults for this ttl and checks everything.
 *
 *  @param where  how messages name the config: "SlotPoolConfig"
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] LeaseTerms
make_terms(std::string const& where, milliseconds ttl, LeaseOptions const& options, Backend::TtlLimits const& limits);

/** Checks how long keys are to rest after their leases.
 *
 *  @param store  the name of the store, for the message
 *  @param no_quarantine  what `Backend::no_quarantine` says
 *  @throws std::invalid_argument naming field, value and rule */
void check_reuse_after(
    std::string const& where, milliseconds reuse_after, std::string const& store, char const* no_quarantine);

/** Why a lease cannot be detached. */
struct Refusal {
    error_code error;
    /// the end of a sentence
    std::string words;
};

/** Checks for how long a key is to stay taken after its lease.
 *
 *  @param no_detach  what `Backend::no_detach` says
 *  @param remaining  unset: the ttl that it has */
[[nodiscard]] std::optional<Refusal>
refuse_detachment(char const* no_detach, Backend::TtlLimits const& limits, std::optional<milliseconds> remaining);

/** The time rule: a claim that the store granted for `ttl`, asked for at `since`, may be relied on until here.
 *
 *  A hundredth of the ttl covers clocks that run at different speed, and 10 ms the granularity of clocks and timers. */
[[nodiscard]] Instant valid_until(Instant since, milliseconds ttl) noexcept;

/** The time from one renewal to the next, where validity rests on this ttl: what the options say, as far as a second
 * try fits in. */
[[nodiscard]] milliseconds renew_interval(RenewalTerms const& terms, milliseconds ttl) noexcept;

/** The time of the last renewal before the token is cancelled at `stop_at`: an outage that ends before it costs
 * nothing. The renewal may be `renewal_slack` earlier. */
[[nodiscard]] Instant last_try(Instant stop_at, milliseconds ttl) noexcept;

/** How much earlier than due a renewal may leave, to go out together with others. */
[[nodiscard]] Clock::duration renewal_slack(milliseconds ttl) noexcept;

/** How long the store may leave requests unanswered, from whichever instant on, without a lease being lost. Zero if the
 * library does not try again. */
[[nodiscard]] milliseconds tolerated_outage(LeaseTerms const& terms) noexcept;

/// how long `async_acquire` waits unless its options say otherwise
inline constexpr std::chrono::seconds default_wait{30};

/** So long after `now`; the greatest instant, which never comes, where that lies beyond it. */
[[nodiscard]] Instant later(Instant now, milliseconds time) noexcept;

} // namespace tenure::engine
