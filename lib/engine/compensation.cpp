// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "compensation.hpp"

#include "journal.hpp"
#include "lease_record.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace tenure::engine
{

namespace
{

using std::chrono::milliseconds;

/// an unanswered request is retried after this time, then after twice this time, and so on
constexpr Clock::duration patience = milliseconds{1000};
/// without users of the store: for each key in all, and for one that was tried long before
constexpr Clock::duration hurried = milliseconds{1000};
constexpr Clock::duration last_chance = milliseconds{250};
constexpr Clock::duration first_retry_pause = milliseconds{10};
constexpr unsigned most_doublings = 6;

} // namespace

Compensation::Compensation(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Journal& journal)
    : runtime_(std::move(runtime))
    , backend_(std::move(backend))
    , journal_(journal)
{
}

Compensation::ItemPtr Compensation::make_item()
{
    return std::make_shared<Item>();
}

void Compensation::release(
    ItemPtr const& item, ClaimPtr claim, Reason reason, bool notifications, Instant now, milliseconds ttl)
{
    item->claim_ = std::move(claim);
    item->notifications_ = notifications;
    item->give_up_at_ = now + ttl;
    item->reason_ = reason;
    begin(item, now);
}

void Compensation::withdraw(
    KeyRangePtr range, std::string owner, bool notifications, milliseconds reuse_after, Instant now, milliseconds ttl)
{
    auto const item = make_item();
    item->range_ = std::move(range);
    item->owner_ = std::move(owner);
    item->reuse_after_ = reuse_after;
    item->notifications_ = notifications;
    item->give_up_at_ = now + ttl;
    begin(item, now);
}

void Compensation::detach(Detachment detachment, Instant now, milliseconds ttl)
{
    auto const item = make_item();
    item->claim_ = detachment.record->claim_ptr();
    item->detachment_ = std::make_unique<Detachment>(std::move(detachment));
    item->give_up_at_ = now + ttl;
    begin(item, now);
}

void Compensation::begin(ItemPtr const& item, Instant now)
{
    item->position_ = items_.insert(items_.end(), item);
    item->began_ = now;
    item->tell_at_ = now + patience;
    ask(item, now);
}

void Compensation::ask(ItemPtr const& item, Instant now)
{
    if (now >= item->give_up_at_) {
        finish(item, ReleaseOutcome::unconfirmed);
        return;
    }
    if (now >= item->tell_at_) {
        item->tell_at_ = Instant::max();
        tell(listener_.lock().get(), *item, ReleaseOutcome::unconfirmed);
    }
    auto const waited = std::min(item->asked_, most_doublings);
    ++item->asked_;
    if (item->claim_) {
        ReleaseRequest request;
        request.claim = item->claim_;
        request.not_after = item->give_up_at_;
        request.notifications = item->notifications_;
        if (item->detachment_)
            request.keep_for = item->detachment_->keep_for;
        backend_->release(std::move(request), [weak = weak_from_this(), item](ReleaseReply const& reply) {
            if (auto self = weak.lock())
                self->answered(item, reply);
        });
    } else {
        WithdrawRequest request;
        request.range = item->range_;
        request.owner = item->owner_;
        request.reuse_after = item->reuse_after_;
        request.not_after = item->give_up_at_;
        request.notifications = item->notifications_;
        backend_->withdraw(std::move(request), [weak = weak_from_this(), item](WithdrawReply const& reply) {
            if (auto self = weak.lock())
                self->answered(item, reply);
        });
    }
    retry_at(item, now + patience * (1 << waited));
}

void Compensation::retry_at(ItemPtr const& item, Instant when)
{
    item->ask_at_ = std::min(when, item->give_up_at_);
    runtime_->cancel(std::exchange(item->timer_, 0));
    item->timer_ = runtime_->call_at(item->ask_at_, [weak = weak_from_this(), waiting = std::weak_ptr(item)] {
        auto const self = weak.lock();
        if (auto const alive = waiting.lock(); self && alive) {
            alive->timer_ = 0;
            self->ask(alive, self->runtime_->now());
        }
    });
}

template <class Reply>
void Compensation::answered(ItemPtr const& item, Reply const& reply)
{
    if (item->finished_)
        return;
    if (item->asked_ > 0)
        --item->asked_;
    if (auto const* const failure = std::get_if<Failure>(&reply)) {
        item->may_be_done_ = item->may_be_done_ || failure->may_take_effect();
        journal_.trouble(*failure);
        auto const backoff = first_retry_pause * (1 << std::min(item->failed_++, most_doublings));
        retry_at(item, runtime_->now() + backoff);
    } else if (auto const* const released = std::get_if<Released>(&reply)) {
        finish(item, ReleaseOutcome::released, released->named_another);
    } else if (item->detachment_ && item->may_be_done_) {
        // an earlier request may have done it, and the key may have expired since
        finish(item, ReleaseOutcome::unconfirmed);
    } else {
        // the key has another owner or none: an earlier request, whose answer was lost, may have freed it
        finish(item, item->may_be_done_ ? ReleaseOutcome::released : ReleaseOutcome::was_lost);
    }
}

void Compensation::finish(ItemPtr const& item, ReleaseOutcome outcome, bool named_another)
{
    if (std::exchange(item->finished_, true))
        return;
    if (item->timer_ != 0)
        runtime_->cancel(std::exchange(item->timer_, 0));
    items_.erase(item->position_);
    if (outcome == ReleaseOutcome::unconfirmed)
        log_unconfirmed(*item);
    auto const listener = listener_.lock();
    tell(listener.get(), *item, outcome);
    if (listener && item->detachment_)
        listener->detachment_ends(*item->detachment_->record);
    else if (listener && item->claim_)
        listener->released(item->claim_->range, outcome == ReleaseOutcome::released, named_another);
    else if (listener && named_another)
        // a withdrawal that found a key; one that found none freed nothing
        listener->released(item->range_, true, true);
    if (items_.empty() && listener)
        listener->all_given_back();
}

void Compensation::log_unconfirmed(Item const& item) const
{
    journal_.log(
        LogLevel::warning, (item.detachment_ ? "detaching " : "giving back ") +
                               (item.claim_ ? item.claim_->key() : item.range_->describe()) +
                               " was never confirmed; it lapses by its ttl");
}

void Compensation::tell(Listener* listener, Detachment& detachment, ReleaseOutcome outcome)
{
    if (listener != nullptr)
        listener->kept(outcome);
    error_code error;
    if (outcome != ReleaseOutcome::released)
        error = make_error_code(outcome == ReleaseOutcome::was_lost ? errc::lease_lost : errc::store_unavailable);
    detachment.call->complete(error);
}

void Compensation::tell(Listener* listener, Item& item, ReleaseOutcome outcome)
{
    if (item.detachment_) {
        tell(listener, *item.detachment_, outcome);
        return;
    }
    if (item.claim_ && listener != nullptr)
        listener->given_back(item.reason_, outcome);
    item.complete({}, outcome);
}

void Compensation::reachable()
{
    auto const now = runtime_->now();
    auto const all = std::vector<ItemPtr>(items_.begin(), items_.end());
    for (auto const& item : all)
        if (!item->finished_ && item->asked_ == 0)
            ask(item, now);
}

void Compensation::hurry(Instant now)
{
    auto const all = std::vector<ItemPtr>(items_.begin(), items_.end());
    for (auto const& item : all) {
        auto const give_up_at = std::max(now + last_chance, item->began_ + hurried);
        if (!item->finished_ && give_up_at < item->give_up_at_) {
            item->give_up_at_ = give_up_at;
            retry_at(item, std::min(item->ask_at_, give_up_at));
        }
    }
}

void Compensation::forget_callers()
{
    // a copy: handlers may own what comes back here
    auto const all = std::vector<ItemPtr>(items_.begin(), items_.end());
    for (auto const& item : all) {
        item->forget();
        if (item->detachment_)
            item->detachment_->call->forget();
    }
}

void Compensation::close()
{
    auto const listener = std::exchange(listener_, {}).lock();
    auto const all = std::exchange(items_, {});
    for (auto const& item : all) {
        item->finished_ = true;
        log_unconfirmed(*item);
        runtime_->cancel(std::exchange(item->timer_, 0));
        tell(listener.get(), *item, ReleaseOutcome::unconfirmed);
    }
}

} // namespace tenure::engine
