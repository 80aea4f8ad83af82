// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ReleaseQueue: sends and repeats requests that give keys back.
#include "release_queue.hpp"

#include "counters.hpp"
#include "lease_lines.hpp"
#include "lease_record.hpp"
#include "store_log.hpp"

#include <tenure/errc.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace tenure::engine
{

namespace
{

using std::chrono::milliseconds;

/// a waiting call ends with `unconfirmed` after this time, and an unanswered request is overdue
constexpr Clock::duration patience = milliseconds{1000};
/// without users of the store: limit for each key, and for a key that was tried long before
constexpr Clock::duration hurried = milliseconds{1000};
constexpr Clock::duration last_chance = milliseconds{250};
constexpr Clock::duration first_retry_pause = milliseconds{10};
constexpr unsigned most_doublings = 6;
constexpr unsigned timed_every = 8;

} // namespace

ReleaseQueue::ReleaseQueue(
    std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Counters& counters, StoreLog& store_log,
    LeaseLines& lines)
    : runtime_(std::move(runtime))
    , backend_(std::move(backend))
    , counters_(counters)
    , store_log_(store_log)
    , lines_(lines)
{
}

ReleaseQueue::PendingReleasePtr ReleaseQueue::make_item(OneShot<void(ReleaseOutcome)> told)
{
    auto pending = std::make_shared<PendingRelease>();
    pending->told_ = std::move(told);
    return pending;
}

void ReleaseQueue::release(
    PendingReleasePtr const& pending, ClaimPtr claim, Reason reason, bool notifications, Instant now, milliseconds ttl)
{
    pending->claim_ = std::move(claim);
    pending->notifications_ = notifications;
    pending->give_up_at_ = now + ttl;
    pending->reason_ = reason;
    begin(pending, now);
}

void ReleaseQueue::withdraw(
    KeyRangePtr range, std::string owner, bool notifications, milliseconds reuse_after, Instant now, milliseconds ttl)
{
    auto const pending = make_item();
    pending->range_ = std::move(range);
    pending->owner_ = std::move(owner);
    pending->reuse_after_ = reuse_after;
    pending->notifications_ = notifications;
    pending->give_up_at_ = now + ttl;
    begin(pending, now);
}

void ReleaseQueue::detach(Detachment detachment, Instant now, milliseconds ttl)
{
    auto const pending = make_item();
    pending->claim_ = detachment.record->claim_ptr();
    pending->detachment_ = std::make_unique<Detachment>(std::move(detachment));
    pending->give_up_at_ = now + ttl;
    begin(pending, now);
}

void ReleaseQueue::begin(PendingReleasePtr const& pending, Instant now)
{
    pending->position_ = pending_.insert(pending_.end(), pending);
    pending->began_ = now;
    pending->tell_at_ = now + patience;
    ask(pending, now);
}

void ReleaseQueue::ask(PendingReleasePtr const& pending, Instant now)
{
    if (now >= pending->give_up_at_) {
        finish(pending, ReleaseOutcome::unconfirmed);
        return;
    }
    ++pending->asked_;
    pending->asked_at_ = now;
    pending->timed_from_ = sent_++ % timed_every == 0 ? std::optional(now) : std::nullopt;
    if (pending->claim_) {
        ReleaseRequest request;
        request.claim = pending->claim_;
        request.not_after = pending->give_up_at_;
        request.notifications = pending->notifications_;
        if (pending->detachment_)
            request.keep_for = pending->detachment_->keep_for;
        backend_->release(std::move(request), [weak = weak_from_this(), pending](ReleaseReply const& reply) {
            if (auto self = weak.lock())
                self->answered(pending, RequestKind::release, reply);
        });
    } else {
        WithdrawRequest request;
        request.range = pending->range_;
        request.owner = pending->owner_;
        request.reuse_after = pending->reuse_after_;
        request.not_after = pending->give_up_at_;
        request.notifications = pending->notifications_;
        backend_->withdraw(std::move(request), [weak = weak_from_this(), pending](WithdrawReply const& reply) {
            if (auto self = weak.lock())
                self->answered(pending, RequestKind::withdraw, reply);
        });
    }
    // an unanswered request is repeated only through another connection: see `reachable`
    ask_at(pending, Instant::max());
}

void ReleaseQueue::ask_at(PendingReleasePtr const& pending, Instant when)
{
    pending->ask_at_ = when;
    auto const wake_at = std::min({when, pending->tell_at_, pending->give_up_at_});
    runtime_->cancel(std::exchange(pending->timer_, 0));
    pending->timer_ = runtime_->call_at(wake_at, [weak = weak_from_this(), waiting = std::weak_ptr(pending)] {
        auto const self = weak.lock();
        if (auto const alive = waiting.lock(); self && alive) {
            alive->timer_ = 0;
            self->tick(alive, self->runtime_->now());
        }
    });
}

void ReleaseQueue::tick(PendingReleasePtr const& pending, Instant now)
{
    if (now >= pending->give_up_at_) {
        finish(pending, ReleaseOutcome::unconfirmed);
        return;
    }
    if (now >= pending->tell_at_) {
        pending->tell_at_ = Instant::max();
        notify(listener_.lock().get(), *pending, ReleaseOutcome::unconfirmed);
    }
    if (now >= pending->ask_at_)
        ask(pending, now);
    else
        ask_at(pending, pending->ask_at_);
}

template <class Reply>
void ReleaseQueue::answered(PendingReleasePtr const& pending, RequestKind kind, Reply const& reply)
{
    std::optional<Clock::duration> took;
    if (auto const from = std::exchange(pending->timed_from_, std::nullopt))
        took = runtime_->now() - *from;
    counters_.requests.ended(kind, reply, took);
    if (!std::holds_alternative<Failure>(reply))
        store_log_.answered();
    if (pending->finished_)
        return;
    if (pending->asked_ > 0)
        --pending->asked_;
    if (auto const* const failure = std::get_if<Failure>(&reply)) {
        pending->may_be_done_ = pending->may_be_done_ || failure->may_take_effect();
        store_log_.failed(*failure, StoreLog::Asked::by_itself);
        auto const backoff = first_retry_pause * (1 << std::min(pending->failed_++, most_doublings));
        ask_at(pending, std::min(pending->ask_at_, runtime_->now() + backoff));
    } else if (auto const* const released = std::get_if<Released>(&reply)) {
        finish(pending, ReleaseOutcome::released, released->named_another);
    } else if (pending->detachment_ && pending->may_be_done_) {
        // an earlier request may have kept the key, which may have expired since
        finish(pending, ReleaseOutcome::unconfirmed);
    } else {
        // the key has another owner or none: another request, whose answer is lost or pending, may have freed it
        bool const may_be_ours = pending->may_be_done_ || pending->asked_ > 0;
        finish(pending, may_be_ours ? ReleaseOutcome::released : ReleaseOutcome::was_lost);
    }
}

void ReleaseQueue::finish(PendingReleasePtr const& pending, ReleaseOutcome outcome, bool named_another)
{
    if (std::exchange(pending->finished_, true))
        return;
    if (pending->timer_ != 0)
        runtime_->cancel(std::exchange(pending->timer_, 0));
    pending_.erase(pending->position_);
    if (outcome == ReleaseOutcome::unconfirmed)
        log_unconfirmed(*pending);
    auto const listener = listener_.lock();
    notify(listener.get(), *pending, outcome);
    if (listener && pending->detachment_)
        listener->detachment_ends(*pending->detachment_->record);
    else if (listener && pending->claim_)
        listener->released(pending->claim_->range, outcome == ReleaseOutcome::released, named_another);
    else if (listener && named_another)
        // only a withdrawal that found a key has freed one
        listener->released(pending->range_, true, true);
    if (pending_.empty()) {
        lines_.work_ended();
        if (listener)
            listener->all_given_back();
    }
}

void ReleaseQueue::log_unconfirmed(PendingRelease const& pending) const
{
    auto const keys = pending.claim_ ? pending.claim_->key() : pending.range_->describe();
    if (pending.detachment_)
        lines_.detachment_unconfirmed(keys);
    else
        lines_.release_unconfirmed(keys);
}

void ReleaseQueue::notify(Listener* listener, Detachment& detachment, ReleaseOutcome outcome)
{
    if (listener != nullptr)
        listener->kept(outcome);
    error_code error;
    if (outcome != ReleaseOutcome::released)
        error = make_error_code(outcome == ReleaseOutcome::was_lost ? errc::lease_lost : errc::store_unavailable);
    detachment.call->complete(error);
}

void ReleaseQueue::notify(Listener* listener, PendingRelease& pending, ReleaseOutcome outcome)
{
    if (pending.detachment_) {
        notify(listener, *pending.detachment_, outcome);
        return;
    }
    if (pending.claim_ && listener != nullptr)
        listener->given_back(pending.reason_, outcome);
    pending.tell(outcome);
}

void ReleaseQueue::reachable()
{
    auto const now = runtime_->now();
    auto const all = std::vector<PendingReleasePtr>(pending_.begin(), pending_.end());
    for (auto const& pending : all)
        if (!pending->finished_)
            // the new connection may be to another server than the one that has not answered yet
            ask_at(pending, pending->asked_ == 0 ? now : std::max(now, pending->asked_at_ + patience));
}

void ReleaseQueue::hurry(Instant now)
{
    auto const all = std::vector<PendingReleasePtr>(pending_.begin(), pending_.end());
    for (auto const& pending : all) {
        auto const give_up_at = std::max(now + last_chance, pending->began_ + hurried);
        if (!pending->finished_ && give_up_at < pending->give_up_at_) {
            pending->give_up_at_ = give_up_at;
            ask_at(pending, pending->ask_at_);
        }
    }
}

void ReleaseQueue::forget_callers()
{
    // a copy, because destroyed handlers may call this object again
    auto const all = std::vector<PendingReleasePtr>(pending_.begin(), pending_.end());
    for (auto const& pending : all) {
        pending->drop_callers();
        if (pending->detachment_)
            pending->detachment_->call->forget();
    }
}

void ReleaseQueue::close()
{
    auto const listener = std::exchange(listener_, {}).lock();
    auto const all = std::exchange(pending_, {});
    for (auto const& pending : all) {
        pending->finished_ = true;
        log_unconfirmed(*pending);
        runtime_->cancel(std::exchange(pending->timer_, 0));
        notify(listener.get(), *pending, ReleaseOutcome::unconfirmed);
    }
}

} // namespace tenure::engine
