// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Terms of leases: defaults, checks, and the rules of time.
#include "lease_terms.hpp"

#include <algorithm>
#include <stdexcept>

namespace tenure::engine
{

namespace
{

constexpr milliseconds margin{10};
constexpr int drift_divisor = 100;
// parts of the ttl that remain for a renewal whose predecessor was lost, and for the last renewal
constexpr int second_try_divisor = 4;
constexpr int last_try_divisor = 20;
constexpr int slack_divisor = 30;
constexpr milliseconds least_poll_interval{10};
constexpr milliseconds most_poll_interval = std::chrono::minutes{1};
constexpr milliseconds longest_reuse_after = std::chrono::hours{24};

class Rules
{
public:
    explicit Rules(std::string where)
        : where_(std::move(where))
    {
    }

    void check(bool holds, char const* field, milliseconds value, std::string const& rule) const
    {
        if (!holds)
            throw std::invalid_argument(
                where_ + "::" + field + " is " + std::to_string(value.count()) + " ms: " + rule);
    }

private:
    std::string where_;
};

std::string text(milliseconds value)
{
    return std::to_string(value.count()) + " ms";
}

milliseconds default_notice(milliseconds ttl) noexcept
{
    return std::min(std::max(ttl / 10, milliseconds{20}), ttl / 3);
}

/** The time from the last answered request to the cancellation of the token. */
milliseconds time_to_renew(milliseconds ttl, milliseconds notice) noexcept
{
    return std::chrono::floor<milliseconds>(valid_until(Instant{}, ttl) - Instant{}) - notice;
}

/** An unanswered renewal is retried after a sixth of the ttl, slightly later with jitter. */
milliseconds longest_renew_interval(milliseconds ttl, milliseconds notice) noexcept
{
    return std::max(ttl / 3, time_to_renew(ttl, notice) - ttl / second_try_divisor);
}

} // namespace

Instant valid_until(Instant since, milliseconds ttl) noexcept
{
    Clock::duration const granted = ttl;
    return since + granted - granted / drift_divisor - margin;
}

bool usable(RenewalTerms const& terms, Instant since, milliseconds ttl, Instant now) noexcept
{
    return now < valid_until(since, ttl) - std::min(terms.notice, ttl / 3);
}

milliseconds renew_interval(RenewalTerms const& terms, milliseconds ttl) noexcept
{
    if (terms.renew_interval == milliseconds{0})
        return ttl / 3;
    return std::min(terms.renew_interval, longest_renew_interval(ttl, std::min(terms.notice, ttl / 3)));
}

Clock::duration renewal_slack(milliseconds ttl) noexcept
{
    return Clock::duration(ttl) / slack_divisor;
}

Instant last_try(Instant stop_at, milliseconds ttl) noexcept
{
    return stop_at - Clock::duration(ttl) / last_try_divisor;
}

milliseconds tolerated_outage(LeaseTerms const& terms) noexcept
{
    if (terms.renewal == Renewal::manual || terms.cancel_when == CancelWhen::first_failed_renewal)
        return milliseconds{0};
    // from right before a renewal that leaves as late as possible, until right before the last one leaves
    Instant const answered{};
    auto const renewed = answered + renew_interval(terms, terms.ttl);
    auto const stop_at = valid_until(answered, terms.ttl) - terms.notice;
    return std::chrono::floor<milliseconds>(last_try(stop_at, terms.ttl) - renewal_slack(terms.ttl) - renewed);
}

Instant later(Instant now, milliseconds time) noexcept
{
    return time >= std::chrono::floor<milliseconds>(Instant::max() - now) ? Instant::max() : now + time;
}

LeaseTerms
make_terms(std::string const& where, milliseconds ttl, LeaseOptions const& options, backend::TtlLimits const& limits)
{
    Rules const rules(where);
    rules.check(
        ttl >= limits.shortest && ttl <= limits.longest, "ttl", ttl,
        "this store allows " + text(limits.shortest) + " to " + text(limits.longest));

    LeaseTerms terms;
    terms.ttl = ttl;
    terms.cancel_when = options.cancel_when;
    terms.renewal = options.renewal;
    terms.fencing = options.fencing;
    terms.notifications = options.notifications;

    terms.notice = options.notice.value_or(default_notice(ttl));
    rules.check(
        terms.notice > milliseconds{0} && terms.notice <= ttl / 3, "lease.notice", terms.notice,
        "more than 0, and at most a third of the ttl, " + text(ttl / 3) + "; leave it unset for the default");

    auto const longest = longest_renew_interval(ttl, terms.notice);
    auto const interval = options.renew_interval.value_or(ttl / 3);
    rules.check(
        interval > milliseconds{0} && interval <= longest, "lease.renew_interval", interval,
        "more than 0, and at most " + text(longest) + " for a ttl of " + text(ttl) + " and a notice of " +
            text(terms.notice) +
            ", so that a renewal that gets lost can be sent again; leave it unset for the default, " + text(ttl / 3));
    terms.renew_interval = options.renew_interval.value_or(milliseconds{0});

    auto const max_hold = options.max_hold.value_or(milliseconds{1});
    rules.check(max_hold > milliseconds{0}, "lease.max_hold", max_hold, "more than 0; leave it unset for no limit");
    terms.max_hold = options.max_hold.value_or(milliseconds{0});

    rules.check(
        options.max_poll_interval >= least_poll_interval && options.max_poll_interval <= most_poll_interval,
        "lease.max_poll_interval", options.max_poll_interval,
        "must be from " + text(least_poll_interval) + " to " + text(most_poll_interval));
    terms.max_poll_interval = options.max_poll_interval;
    return terms;
}

void check_reuse_after(
    std::string const& where, milliseconds reuse_after, std::string const& store, char const* no_quarantine)
{
    Rules const rules(where);
    rules.check(
        reuse_after >= milliseconds{0} && reuse_after <= longest_reuse_after, "reuse_after", reuse_after,
        "must be from 0 (none) to " + text(longest_reuse_after));
    if (no_quarantine != nullptr)
        rules.check(
            reuse_after == milliseconds{0}, "reuse_after", reuse_after,
            store + " cannot keep a released key in quarantine: " + no_quarantine +
                "; use another store, or set it to 0");
}

void check_shares(std::string const& where, std::string const& store, char const* no_shares)
{
    if (no_shares != nullptr)
        throw std::invalid_argument(
            where + ": " + store + " cannot hold a key in places, in the order of waiters: " + no_shares +
            "; use another store, or a plain Lock or SlotPool");
}

namespace
{

std::optional<Refusal> refuse_beyond(backend::TtlLimits const& limits, std::string const& name, milliseconds time)
{
    if (time >= limits.shortest && time <= limits.longest)
        return std::nullopt;
    return Refusal{
        make_error_code(boost::system::errc::invalid_argument),
        name + " is " + text(time) + ": this store allows " + text(limits.shortest) + " to " + text(limits.longest)};
}

} // namespace

std::optional<Refusal> refuse_ttl(backend::TtlLimits const& limits, milliseconds ttl)
{
    return refuse_beyond(limits, "ttl", ttl);
}

std::optional<Refusal> refuse_detachment(backend::Capabilities const& store, std::optional<milliseconds> remaining)
{
    namespace errors = boost::system::errc;
    if (store.no_detach != nullptr)
        return Refusal{
            make_error_code(errors::operation_not_supported),
            "the store cannot keep a key taken without a holder: " + std::string(store.no_detach) +
                "; use another store, or release the lease"};
    return remaining ? refuse_beyond(store.ttl, "remaining", *remaining) : std::nullopt;
}

} // namespace tenure::engine
