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

constexpr unsigned timed_every = 8;

bool is_of_lost_lease(ReleaseQueue::Request const& request)
{
    if (auto const* const detachment = std::get_if<Detachment>(&request))
        return is_loss(detachment->record->token().reason());
    auto const* const key = std::get_if<KeyToFree>(&request);
    return key != nullptr && key->lost;
}

} // namespace

void ReleaseQueue::PendingRelease::notify(ReleaseOutcome outcome)
{
    complete({}, outcome);
    if (auto told = std::move(told_))
        told(outcome);
    if (auto const* const detachment = std::get_if<Detachment>(&request_)) {
        error_code error;
        if (outcome != ReleaseOutcome::released)
            error = make_error_code(outcome == ReleaseOutcome::was_lost ? errc::lease_lost : errc::store_unavailable);
        detachment->call->complete(error);
    }
}

void ReleaseQueue::PendingRelease::drop_callers() noexcept
{
    forget();
    told_ = nullptr;
    if (auto const* const detachment = std::get_if<Detachment>(&request_))
        detachment->call->forget();
}

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

void ReleaseQueue::begin(Request request, std::chrono::milliseconds ttl, Instant now, PendingReleasePtr const& pending)
{
    pending->request_ = std::move(request);
    pending->position_ = spare_.append(pending_, pending);
    bool const keeps = std::holds_alternative<Detachment>(pending->request_);
    carry_out(pending, pending->machine_.begin(ttl, keeps, now), now);
}

void ReleaseQueue::carry_out(PendingReleasePtr const& pending, ReleaseMachine::Step const& step, Instant now)
{
    if (step.give_up) {
        finish(pending, ReleaseOutcome::unconfirmed);
        return;
    }
    if (step.overdue)
        pending->notify(ReleaseOutcome::unconfirmed);
    if (step.send)
        send(pending, now);
    wake_at(pending, step.wake_at);
}

void ReleaseQueue::send(PendingReleasePtr const& pending, Instant now)
{
    pending->timed_from_ = sent_++ % timed_every == 0 ? std::optional(now) : std::nullopt;
    if (auto const* const withdrawal = std::get_if<Withdrawal>(&pending->request_)) {
        WithdrawRequest request;
        request.range = withdrawal->range;
        request.owner = withdrawal->owner;
        request.reuse_after = withdrawal->reuse_after;
        request.not_after = pending->machine_.give_up_at();
        request.notifications = withdrawal->notifications;
        backend_->withdraw(std::move(request), [weak = weak_from_this(), pending](WithdrawReply const& reply) {
            if (auto self = weak.lock())
                self->answered(pending, RequestKind::withdraw, reply);
        });
        return;
    }
    ReleaseRequest request;
    if (auto const* const detachment = std::get_if<Detachment>(&pending->request_)) {
        request.claim = detachment->record->claim_ptr();
        request.keep_for = detachment->keep_for;
    } else {
        auto const& key = std::get<KeyToFree>(pending->request_);
        request.claim = key.claim;
        request.notifications = key.notifications;
    }
    request.not_after = pending->machine_.give_up_at();
    backend_->release(std::move(request), [weak = weak_from_this(), pending](ReleaseReply const& reply) {
        if (auto self = weak.lock())
            self->answered(pending, RequestKind::release, reply);
    });
}

void ReleaseQueue::wake_at(PendingReleasePtr const& pending, Instant when)
{
    runtime_->cancel(std::exchange(pending->timer_, 0));
    pending->timer_ = runtime_->call_at(when, [weak = weak_from_this(), waiting = std::weak_ptr(pending)] {
        auto const self = weak.lock();
        if (auto const alive = waiting.lock(); self && alive) {
            alive->timer_ = 0;
            auto const now = self->runtime_->now();
            self->carry_out(alive, alive->machine_.tick(now), now);
        }
    });
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
    auto& machine = pending->machine_;
    if (machine.ended())
        return;
    if (auto const* const failure = std::get_if<Failure>(&reply)) {
        store_log_.failed(*failure, StoreLog::Asked::by_itself);
        auto const now = runtime_->now();
        carry_out(pending, machine.failed(failure->may_take_effect(), now), now);
    } else if (auto const* const released = std::get_if<Released>(&reply)) {
        pending->named_another_ = released->named_another;
        finish(pending, machine.confirmed());
    } else {
        finish(pending, machine.disowned());
    }
}

void ReleaseQueue::finish(PendingReleasePtr const& pending, ReleaseOutcome outcome)
{
    runtime_->cancel(std::exchange(pending->timer_, 0));
    spare_.take(pending_, pending->position_);
    if (outcome == ReleaseOutcome::unconfirmed)
        log_unconfirmed(pending->request_);
    count(pending->request_, outcome);
    pending->notify(outcome);
    done_({pending->request_, outcome, pending->named_another_});
}

void ReleaseQueue::count(Request const& request, ReleaseOutcome outcome) noexcept
{
    auto const* const key = std::get_if<KeyToFree>(&request);
    bool const detachment = std::holds_alternative<Detachment>(request);
    if (!detachment && (key == nullptr || key->unwanted))
        return;
    if (outcome == ReleaseOutcome::released)
        add_one(detachment ? counters_.detached : counters_.released);
    else if (outcome == ReleaseOutcome::was_lost)
        add_one(counters_.released_not_owner);
}

void ReleaseQueue::log_unconfirmed(Request const& request) const
{
    if (auto const* const detachment = std::get_if<Detachment>(&request))
        lines_.detachment_unconfirmed(detachment->record->key());
    else if (auto const* const withdrawal = std::get_if<Withdrawal>(&request))
        lines_.release_unconfirmed(withdrawal->range->describe());
    else
        lines_.release_unconfirmed(std::get<KeyToFree>(request).claim->key());
}

void ReleaseQueue::reachable()
{
    auto const now = runtime_->now();
    for (auto const& pending : pending_)
        carry_out(pending, pending->machine_.reachable(now), now);
}

void ReleaseQueue::hurry(Instant now)
{
    for (auto const& pending : pending_)
        if (auto const step = pending->machine_.hurry(now))
            carry_out(pending, *step, now);
}

void ReleaseQueue::hurry_lost(Instant now)
{
    // a copy, because a request whose time is over leaves the list
    auto const all = std::vector<PendingReleasePtr>(pending_.begin(), pending_.end());
    for (auto const& pending : all)
        if (is_of_lost_lease(pending->request_))
            if (auto const step = pending->machine_.hurry(now))
                carry_out(pending, *step, now);
}

void ReleaseQueue::forget_callers()
{
    // a copy, because destroyed handlers may call this object again
    auto const all = std::vector<PendingReleasePtr>(pending_.begin(), pending_.end());
    for (auto const& pending : all)
        pending->drop_callers();
}

void ReleaseQueue::close()
{
    for (auto const& pending : std::exchange(pending_, {})) {
        pending->machine_.end();
        log_unconfirmed(pending->request_);
        runtime_->cancel(std::exchange(pending->timer_, 0));
        pending->notify(ReleaseOutcome::unconfirmed);
    }
}

} // namespace tenure::engine
