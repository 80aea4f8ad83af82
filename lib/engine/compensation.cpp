// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "compensation.hpp"

#include "journal.hpp"
#include "mutation.hpp"
#include "store_answer.hpp"

#include <tenure/detail/recycling_allocator.hpp>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace tenure::engine
{

namespace
{

using std::chrono::milliseconds;

/// an unanswered request is asked again after this time, then after twice of it, and so on
constexpr Clock::duration patience = milliseconds{1000};
constexpr Clock::duration first_retry_pause = milliseconds{10};
constexpr unsigned most_doublings = 6;

} // namespace

Compensation::Compensation(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Journal& journal)
    : runtime_(std::move(runtime))
    , backend_(std::move(backend))
    , journal_(journal)
    , timer_(*this, *runtime_)
{
}

void Compensation::release(ClaimPtr claim, Reason reason, bool wake_ups, Instant now, milliseconds ttl, CallPtr call)
{
    auto item = make_recycled<Item>();
    item->claim = std::move(claim);
    item->wake_ups = wake_ups;
    item->give_up_at = now + ttl;
    item->reason = reason;
    item->call = std::move(call);
    begin(item, now);
}

void Compensation::withdraw(KeyRangePtr range, std::string owner, bool wake_ups, Instant now, milliseconds ttl)
{
    auto item = make_recycled<Item>();
    item->range = std::move(range);
    item->owner = std::move(owner);
    item->wake_ups = wake_ups;
    item->give_up_at = now + ttl;
    begin(item, now);
}

void Compensation::begin(ItemPtr const& item, Instant now)
{
    item->position = items_.push_back(item);
    item->tell_at = now + patience;
    ask(item, now);
}

void Compensation::ask(ItemPtr const& item, Instant now)
{
    if (now >= item->give_up_at) {
        finish(item, ReleaseOutcome::unconfirmed);
        return;
    }
    if (now >= item->tell_at) {
        item->tell_at = Instant::max();
        tell(*item, ReleaseOutcome::unconfirmed);
    }
    auto const waited = std::min(item->asked, most_doublings);
    ++item->asked;
    if (item->claim) {
        ReleaseRequest request;
        request.claim = item->claim;
        request.not_after = item->give_up_at;
        request.wake_ups = item->wake_ups;
        backend_->release(std::move(request), [weak = weak_from_this(), item](ReleaseReply const& reply) {
            if (auto self = weak.lock())
                self->answered(item, reply);
        });
    } else {
        WithdrawRequest request;
        request.range = item->range;
        request.owner = item->owner;
        request.not_after = item->give_up_at;
        request.wake_ups = item->wake_ups;
        backend_->withdraw(std::move(request), [weak = weak_from_this(), item](WithdrawReply const& reply) {
            if (auto self = weak.lock())
                self->answered(item, reply);
        });
    }
    retry_at(item, now + patience * (1 << waited));
}

void Compensation::retry_at(ItemPtr const& item, Instant when)
{
    item->ask_at = std::min(when, item->give_up_at);
    if (item->has_timer)
        set_timer(item);
    else
        timer_.ring_by(item->ask_at);
}

void Compensation::set_timer(ItemPtr const& item)
{
    runtime_->cancel(std::exchange(item->timer, 0));
    item->timer = runtime_->call_at(item->ask_at, [weak = weak_from_this(), waiting = std::weak_ptr(item)] {
        auto const self = weak.lock();
        if (auto const alive = waiting.lock(); self && alive) {
            alive->timer = 0;
            self->ask(alive, self->runtime_->now());
        }
    });
}

void Compensation::give_timers()
{
    // the last ones are the youngest: those before them have had theirs since an earlier call
    auto young = items_.end();
    while (young != items_.begin() && !(*std::prev(young))->has_timer)
        --young;
    for (; young != items_.end(); ++young) {
        set_timer(*young);
        (*young)->has_timer = true;
    }
}

template <class Reply>
void Compensation::answered(ItemPtr const& item, Reply const& reply)
{
    if (item->finished)
        return;
    if (item->asked > 0)
        --item->asked;
    if (auto const failure = failure_of(reply)) {
        if (mutated(Mutant::release_given_up)) {
            finish(item, ReleaseOutcome::unconfirmed);
            return;
        }
        item->may_be_done = item->may_be_done || failure->may_take_effect;
        journal_.trouble(*failure);
        auto const backoff = first_retry_pause * (1 << std::min(item->failed++, most_doublings));
        retry_at(item, runtime_->now() + backoff);
    } else if (std::holds_alternative<Released>(reply)) {
        finish(item, ReleaseOutcome::released);
    } else {
        // not ours (any more): an earlier request, whose answer was lost, may have freed it
        finish(item, item->may_be_done ? ReleaseOutcome::released : ReleaseOutcome::was_lost);
    }
}

void Compensation::finish(ItemPtr const& item, ReleaseOutcome outcome)
{
    if (std::exchange(item->finished, true))
        return;
    runtime_->cancel(std::exchange(item->timer, 0));
    items_.erase(item->position);
    if (outcome == ReleaseOutcome::unconfirmed)
        journal_.log(
            LogLevel::warning, "giving back " + (item->claim ? item->claim->key() : item->range->describe()) +
                                   " was never confirmed; it lapses by its ttl");
    tell(*item, outcome);
    if (items_.empty() && on_idle_)
        on_idle_();
}

void Compensation::tell(Item const& item, ReleaseOutcome outcome)
{
    if (item.claim && on_outcome_)
        on_outcome_(*item.claim, item.reason, outcome);
    if (item.call)
        item.call->complete({}, outcome);
}

void Compensation::reachable()
{
    auto const now = runtime_->now();
    auto const all = std::vector<ItemPtr>(items_.begin(), items_.end());
    for (auto const& item : all)
        if (!item->finished && item->asked == 0)
            ask(item, now);
}

void Compensation::hurry(Instant give_up_at)
{
    auto const now = runtime_->now();
    auto const all = std::vector<ItemPtr>(items_.begin(), items_.end());
    for (auto const& item : all)
        if (!item->finished && give_up_at < item->give_up_at) {
            item->give_up_at = give_up_at;
            retry_at(item, std::max(give_up_at, now));
        }
}

void Compensation::close()
{
    on_idle_ = nullptr;
    timer_.stop();
    auto const all = items_.take_all();
    for (auto const& item : all) {
        item->finished = true;
        runtime_->cancel(std::exchange(item->timer, 0));
        tell(*item, ReleaseOutcome::unconfirmed);
    }
}

} // namespace tenure::engine
