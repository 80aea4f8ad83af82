// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ReleaseMachine: retries, patience and the end of a request that frees or keeps keys.
#include "release_machine.hpp"

#include <algorithm>

namespace tenure::engine
{

namespace
{

using std::chrono::milliseconds;

/// of a caller, and for an unanswered request
constexpr Clock::duration patience = milliseconds{1000};
/// without users of the store: limit for each key, and for a key that was tried long before
constexpr Clock::duration hurried = milliseconds{1000};
constexpr Clock::duration last_chance = milliseconds{250};
constexpr Clock::duration first_retry_pause = milliseconds{10};
constexpr unsigned most_doublings = 6;

} // namespace

ReleaseMachine::Step ReleaseMachine::begin(milliseconds ttl, bool keeps, Instant now)
{
    keeps_ = keeps;
    began_ = now;
    give_up_at_ = now + ttl;
    overdue_at_ = now + patience;
    return send(now);
}

ReleaseMachine::Step ReleaseMachine::send(Instant now)
{
    if (now >= give_up_at_)
        return give_up();
    ++unanswered_;
    sent_at_ = now;
    auto step = wait_until(Instant::max());
    step.send = true;
    return step;
}

ReleaseMachine::Step ReleaseMachine::wait_until(Instant when)
{
    send_at_ = when;
    return {.wake_at = std::min({when, overdue_at_, give_up_at_})};
}

ReleaseMachine::Step ReleaseMachine::give_up()
{
    ended_ = true;
    return {.give_up = true};
}

ReleaseMachine::Step ReleaseMachine::tick(Instant now)
{
    if (now >= give_up_at_)
        return give_up();
    bool const overdue = now >= overdue_at_;
    if (overdue)
        overdue_at_ = Instant::max();
    auto step = now >= send_at_ ? send(now) : wait_until(send_at_);
    step.overdue = overdue;
    return step;
}

ReleaseMachine::Step ReleaseMachine::failed(bool may_take_effect, Instant now)
{
    --unanswered_;
    may_be_done_ = may_be_done_ || may_take_effect;
    auto const pause = first_retry_pause * (1 << std::min(failed_++, most_doublings));
    return wait_until(std::min(send_at_, now + pause));
}

ReleaseOutcome ReleaseMachine::confirmed()
{
    ended_ = true;
    return ReleaseOutcome::released;
}

ReleaseOutcome ReleaseMachine::disowned()
{
    ended_ = true;
    --unanswered_;
    if (keeps_ && may_be_done_)
        return ReleaseOutcome::unconfirmed;
    // another request, whose answer is lost or pending, may have freed it
    bool const may_be_ours = may_be_done_ || unanswered_ > 0;
    return may_be_ours ? ReleaseOutcome::released : ReleaseOutcome::was_lost;
}

ReleaseMachine::Step ReleaseMachine::reachable(Instant now)
{
    // the new connection may be to another server than the one that has not answered yet
    return wait_until(unanswered_ == 0 ? now : std::max(now, sent_at_ + patience));
}

std::optional<ReleaseMachine::Step> ReleaseMachine::hurry(Instant now)
{
    auto const by = std::max(now + last_chance, began_ + hurried);
    if (by >= give_up_at_)
        return std::nullopt;
    give_up_at_ = by;
    return wait_until(send_at_);
}

} // namespace tenure::engine
