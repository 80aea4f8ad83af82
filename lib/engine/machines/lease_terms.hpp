// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>
#include <tenure/options.hpp>

#include <boost/system/error_code.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace tenure::engine
{

using std::chrono::milliseconds;

/** Times of the renewals and of the cancellation of a token. */
struct RenewalTerms {
    milliseconds notice{};
    /// zero: a third of the effective ttl
    milliseconds renew_interval{};
    CancelWhen cancel_when = CancelWhen::loss;
    Renewal renewal = Renewal::automatic;
};

/** How one lease is acquired and held, with all defaults. */
struct LeaseTerms : RenewalTerms {
    milliseconds ttl{};
    /// zero: no limit
    milliseconds max_hold{};
    bool fencing = true;
    bool notifications = true;
    /// between two claims of a waiter
    milliseconds max_poll_interval{1000};
    /// quarantine of the key after the lease
    milliseconds reuse_after{};
};

/** Fills in the defaults for this ttl and checks all terms.
 *
 *  @param where  the name of the config in messages: "SlotPoolConfig"
 *  @throws std::invalid_argument naming field, value and rule */
[[nodiscard]] LeaseTerms
make_terms(std::string const& where, milliseconds ttl, LeaseOptions const& options, backend::TtlLimits const& limits);

/** Checks the quarantine of keys.
 *
 *  @param store  the name of the store, for the message
 *  @param no_quarantine  the text of `Capabilities::no_quarantine`
 *  @throws std::invalid_argument naming field, value and rule */
void check_reuse_after(
    std::string const& where, milliseconds reuse_after, std::string const& store, char const* no_quarantine);

/** Checks that the store holds keys in places.
 *
 *  @param no_shares  the text of `Capabilities::no_shares`
 *  @throws std::invalid_argument naming the config and the rule */
void check_shares(std::string const& where, std::string const& store, char const* no_shares);

/** The reason why something is refused before any request to the store. */
struct Refusal {
    boost::system::error_code error;
    std::string words;
};

/** Checks the ttl of an acquisition or renewal. */
[[nodiscard]] std::optional<Refusal> refuse_ttl(backend::TtlLimits const& limits, std::chrono::milliseconds ttl);

/** Checks how long a key shall stay taken after its lease.
 *
 *  @param remaining  unset: its current ttl */
[[nodiscard]] std::optional<Refusal>
refuse_detachment(backend::Capabilities const& store, std::optional<milliseconds> remaining);

/** The time rule: a claim that was requested at `since` and granted for `ttl` may be relied on until this instant.
 *
 *  A hundredth of the ttl covers clocks of different speeds, and 10 ms the granularity of clocks and timers. */
[[nodiscard]] Instant valid_until(Instant since, milliseconds ttl) noexcept;

/** True if a grant that is known now leaves its holder time before the notice. */
[[nodiscard]] bool usable(RenewalTerms const& terms, Instant since, milliseconds ttl, Instant now) noexcept;

/** The time between two renewals while validity depends on this ttl: the value of the options, limited so that a second
 *  attempt fits in. */
[[nodiscard]] milliseconds renew_interval(RenewalTerms const& terms, milliseconds ttl) noexcept;

/** The time of the last renewal before the token is cancelled at `stop_at`: an outage that ends before it costs no
 *  lease. The renewal may be sent `renewal_slack` earlier. */
[[nodiscard]] Instant last_try(Instant stop_at, milliseconds ttl) noexcept;

/** How much earlier than due a renewal may be sent, to join a batch. */
[[nodiscard]] Clock::duration renewal_slack(milliseconds ttl) noexcept;

/** The longest time from any instant on for which unanswered requests cost no lease. Zero if the library does not
 *  retry. */
[[nodiscard]] milliseconds tolerated_outage(LeaseTerms const& terms) noexcept;

/// how long `async_acquire` waits unless its options say otherwise
inline constexpr std::chrono::seconds default_wait{30};

/** `now` plus `time`; beyond the range of the clock the greatest instant, which never comes. */
[[nodiscard]] Instant later(Instant now, milliseconds time) noexcept;

} // namespace tenure::engine
