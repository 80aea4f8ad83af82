// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "lease_terms.hpp"

#include <algorithm>
#include <stdexcept>

namespace tenure::engine
{

namespace
{

constexpr milliseconds margin{10};
constexpr int drift_divisor = 100;
constexpr milliseconds shortest_longest_pause{10};
constexpr milliseconds longest_longest_pause = std::chrono::minutes{1};
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

} // namespace

Instant valid_until(Instant since, milliseconds ttl) noexcept
{
    Clock::duration const granted = ttl;
    return since + granted - granted / drift_divisor - margin;
}

Instant later(Instant now, milliseconds time) noexcept
{
    return time >= std::chrono::floor<milliseconds>(Instant::max() - now) ? Instant::max() : now + time;
}

LeaseTerms
make_terms(std::string const& where, milliseconds ttl, LeaseOptions const& options, Backend::TtlLimits const& limits)
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

    rules.check(
        options.notice >= milliseconds{0} && options.notice <= ttl / 3, "lease.notice", options.notice,
        "at most a third of the ttl, " + text(ttl / 3) + "; 0 for the default");
    terms.notice =
        options.notice > milliseconds{0} ? options.notice : std::min(std::max(ttl / 10, milliseconds{20}), ttl / 3);

    auto const validity = std::chrono::floor<milliseconds>(valid_until(Instant{}, ttl) - Instant{}) - terms.notice;
    rules.check(
        options.renew_interval >= milliseconds{0} && options.renew_interval <= validity / 2, "lease.renew_interval",
        options.renew_interval,
        "at most half of what the validity allows, " + text(validity / 2) + " for a ttl of " + text(ttl) +
            "; 0 for the default");
    terms.renew_interval = options.renew_interval > milliseconds{0} ? options.renew_interval : ttl / 3;

    rules.check(options.max_hold >= milliseconds{0}, "lease.max_hold", options.max_hold, "0 (no limit) or more");
    terms.max_hold = options.max_hold;

    rules.check(
        options.longest_pause >= shortest_longest_pause && options.longest_pause <= longest_longest_pause,
        "lease.longest_pause", options.longest_pause,
        "must be from " + text(shortest_longest_pause) + " to " + text(longest_longest_pause));
    terms.longest_pause = options.longest_pause;
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
            store + " cannot keep a released number in quarantine: " + no_quarantine +
                "; use another store, or set it to 0");
}

std::optional<Refusal>
refuse_detachment(char const* no_detach, Backend::TtlLimits const& limits, std::optional<milliseconds> remaining)
{
    namespace errors = boost::system::errc;
    if (no_detach != nullptr)
        return Refusal{
            make_error_code(errors::operation_not_supported),
            "the store cannot keep a key taken without a holder: " + std::string(no_detach) +
                "; use another store, or release the lease"};
    if (remaining && (*remaining < limits.shortest || *remaining > limits.longest))
        return Refusal{
            make_error_code(errors::invalid_argument), "remaining is " + text(*remaining) + ": this store allows " +
                                                           text(limits.shortest) + " to " + text(limits.longest)};
    return std::nullopt;
}

} // namespace tenure::engine
