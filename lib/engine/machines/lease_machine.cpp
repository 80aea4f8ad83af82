// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// LeaseMachine: validity, renewals, and the end of a lease.
#include "lease_machine.hpp"

#include <algorithm>

namespace tenure::engine
{

namespace
{

/// for any ttl
constexpr Clock::duration shortest_pause = milliseconds{20};

/** A fraction in [0, 1) in steps of 1/1024. Distributions of the standard library differ between libraries. */
Clock::duration fraction_of(Clock::duration whole, std::uint64_t random) noexcept
{
    return whole / 1024 * static_cast<Clock::rep>(random % 1024);
}

} // namespace

LeaseMachine::LeaseMachine(LeaseTerms const& terms, Instant since, milliseconds granted_ttl, Instant now) noexcept
    : terms_(terms)
    , ttl_(terms.ttl)
    , granted_ttl_(granted_ttl)
    , valid_until_(engine::valid_until(since, granted_ttl))
    , usable_ttl_(granted_ttl)
{
    if (terms.max_hold > milliseconds{0})
        hold_until_ = later(now, terms.max_hold);
    if (terms_.renewal == Renewal::automatic)
        next_renewal_ = since + renew_interval(terms_, granted_ttl);
}

milliseconds LeaseMachine::notice() const noexcept
{
    return std::min(terms_.notice, usable_ttl_ / 3);
}

Instant LeaseMachine::fires_at() const noexcept
{
    return std::min(valid_until_ - notice(), hold_until_);
}

milliseconds LeaseMachine::longest_ttl() const noexcept
{
    auto longest = std::max({granted_ttl_, ttl_, longest_unknown_, longest_answered_});
    for (auto const& attempt : attempts_)
        longest = std::max(longest, attempt.ttl);
    return longest;
}

CancelReason LeaseMachine::fires_because() const noexcept
{
    return fires_at() >= hold_until_ ? CancelReason::max_hold : CancelReason::expired;
}

Clock::duration LeaseMachine::interval(milliseconds ttl, std::uint64_t random) const noexcept
{
    Clock::duration const every = renew_interval(terms_, ttl);
    return every - fraction_of(every / 10, random);
}

Instant LeaseMachine::in_time(Instant planned, Instant now) const noexcept
{
    auto const last = last_try(fires_at(), usable_ttl_);
    return now + renewal_slack(usable_ttl_) < last ? std::min(planned, last) : planned;
}

Instant LeaseMachine::oldest_unanswered() const noexcept
{
    for (auto const& attempt : attempts_)
        if (!attempt.superseded)
            return attempt.sent;
    return Instant::max();
}

LeaseMachine::Step LeaseMachine::fire(CancelReason reason) noexcept
{
    ended_ = true;
    return {0, reason, Instant::max()};
}

CancelReason LeaseMachine::what_time_says(Instant now) noexcept
{
    if (now >= fires_at())
        return now >= hold_until_ ? CancelReason::max_hold : CancelReason::expired;
    auto const oldest = oldest_unanswered();
    if (oldest != Instant::max() && now >= oldest + patience()) {
        at_risk_ = true;
        if (terms_.cancel_when == CancelWhen::first_failed_renewal)
            return CancelReason::first_failed_renewal;
    }
    return CancelReason::none;
}

LeaseMachine::Step LeaseMachine::reschedule() const noexcept
{
    auto look = std::min(fires_at(), next_renewal_);
    if (auto const oldest = oldest_unanswered(); !at_risk_ && oldest != Instant::max())
        look = std::min(look, oldest + patience());
    return {0, CancelReason::none, look};
}

LeaseMachine::AttemptId LeaseMachine::begin_attempt(Instant now)
{
    auto shortest = ttl_;
    auto longest = ttl_;
    for (auto& other : attempts_) {
        other.shortest = std::min(other.shortest, ttl_);
        other.longest = std::max(other.longest, ttl_);
        shortest = std::min(shortest, other.ttl);
        longest = std::max(longest, other.ttl);
    }
    attempts_.push_back({++last_id_, ttl_, now, false, shortest, longest});
    return last_id_;
}

LeaseMachine::Step LeaseMachine::tick(Instant now, Clock::duration slack)
{
    if (ended_)
        return {};
    if (auto const reason = what_time_says(now); reason != CancelReason::none)
        return fire(reason);
    AttemptId renewal = 0;
    if (next_renewal_ != Instant::max() && next_renewal_ <= now + slack) {
        renewal = begin_attempt(now);
        next_renewal_ = Instant::max();
    }
    auto step = reschedule();
    step.renew = renewal;
    return step;
}

LeaseMachine::Step
LeaseMachine::renewed(AttemptId id, milliseconds granted, Instant since, Instant now, std::uint64_t random)
{
    auto const attempt = std::ranges::find(attempts_, id, &Attempt::id);
    if (ended_ || attempt == attempts_.end())
        return ended_ ? Step{} : reschedule();
    auto const shortest = attempt->shortest;
    longest_answered_ = attempt->longest;
    attempts_.erase(attempt);
    if (auto const reason = what_time_says(now); reason == CancelReason::expired || reason == CancelReason::max_hold)
        return fire(reason);
    // an answer to a request with the earlier ttl proves ownership, but not the new ttl
    if (id <= outdated_)
        return reschedule();

    // an attempt with a shorter ttl may take effect later, or has done so
    auto const usable = std::min({granted, shortest, shortest_unknown_});
    last_margin_ = fires_at() - now;
    granted_ttl_ = granted;
    if (auto const until = engine::valid_until(since, usable); until > valid_until_) {
        valid_until_ = until;
        usable_ttl_ = usable;
    }
    for (auto& other : attempts_)
        other.superseded = other.superseded || other.id < id;
    failures_ = 0;
    at_risk_ = false;
    if (terms_.renewal == Renewal::automatic)
        next_renewal_ = since + interval(usable, random);
    auto step = reschedule();
    step.renewed = true;
    return step;
}

LeaseMachine::Step LeaseMachine::failed(AttemptId id, bool may_take_effect, Instant now, std::uint64_t random)
{
    auto const attempt = std::ranges::find(attempts_, id, &Attempt::id);
    if (ended_ || attempt == attempts_.end())
        return ended_ ? Step{} : reschedule();
    bool const superseded = attempt->superseded;
    if (may_take_effect) {
        shortest_unknown_ = std::min(shortest_unknown_, attempt->ttl);
        longest_unknown_ = std::max(longest_unknown_, attempt->ttl);
    }
    attempts_.erase(attempt);
    if (auto const reason = what_time_says(now); reason != CancelReason::none)
        return fire(reason);
    if (superseded)
        return reschedule();

    at_risk_ = true;
    if (terms_.cancel_when == CancelWhen::first_failed_renewal)
        return fire(CancelReason::first_failed_renewal);
    if (terms_.renewal == Renewal::automatic) {
        // at once after the first failure, then after ttl/96, with pauses that double to ttl/12, but at least 20 ms: a
        // store that is away for long gets few requests, for any ttl
        auto const first = std::max(shortest_pause, Clock::duration(ttl_) / 96);
        auto const longest = std::max(shortest_pause, Clock::duration(ttl_) / 12);
        auto const doublings = std::min(failures_, 4U);
        auto const backoff = failures_ == 0 ? Clock::duration::zero() : std::min(longest, first * (1 << doublings) / 2);
        next_renewal_ = std::min(next_renewal_, in_time(now + backoff + fraction_of(backoff / 2, random), now));
    }
    ++failures_;
    return reschedule();
}

LeaseMachine::Step LeaseMachine::disowned()
{
    return ended_ ? Step{} : fire(CancelReason::not_owner);
}

LeaseMachine::Step LeaseMachine::renew_now(milliseconds ttl, Instant now)
{
    if (ended_)
        return {};
    if (ttl > milliseconds{0} && ttl != ttl_) {
        outdated_ = last_id_;
        if (auto const until = engine::valid_until(now, ttl); until < valid_until_) {
            valid_until_ = until;
            usable_ttl_ = ttl;
        }
        ttl_ = ttl;
    }
    if (auto const reason = what_time_says(now); reason != CancelReason::none)
        return fire(reason);
    auto const renewal = begin_attempt(now);
    if (terms_.renewal == Renewal::automatic)
        next_renewal_ = Instant::max();
    auto step = reschedule();
    step.renew = renewal;
    return step;
}

LeaseMachine::Step LeaseMachine::reachable(Instant now) noexcept
{
    if (ended_)
        return {};
    if (terms_.renewal != Renewal::automatic)
        return reschedule();
    if (failures_ > 0)
        next_renewal_ = std::min(next_renewal_, now);
    // the new connection may be to another server than the one that has not answered yet
    if (oldest_unanswered() != Instant::max())
        next_renewal_ = std::min(next_renewal_, std::max(now, attempts_.back().sent + patience()));
    return reschedule();
}

} // namespace tenure::engine
