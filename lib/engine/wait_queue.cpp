// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Wait queues: the head, the next head, and the part of each acquisition.
#include "wait_queue.hpp"

#include "acquisition.hpp"

#include <utility>
#include <variant>

namespace tenure::engine
{

WaitQueue::WaitQueue(
    KeyRangePtr range, std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Grace const& grace)
    : machine(backend->capabilities().keeps_line, grace)
    , range_(std::move(range))
    , runtime_(std::move(runtime))
    , backend_(std::move(backend))
{
}

void WaitQueue::join(Acquisition& acquisition)
{
    if (head_ == nullptr)
        head_ = &acquisition;
    else
        queue_.push_back(&acquisition);
}

void WaitQueue::leave(Acquisition& acquisition)
{
    if (head_ != &acquisition) {
        std::erase(queue_, &acquisition);
        return;
    }
    head_ = nullptr;
    // acquisitions whose wait is over leave in the loop below
    if (std::exchange(passing_, true))
        return;
    try {
        while (head_ == nullptr && !queue_.empty()) {
            head_ = queue_.front();
            queue_.pop_front();
            carry_out(machine.turn_begins(runtime_->now()));
        }
    } catch (...) {
        passing_ = false;
        throw;
    }
    passing_ = false;
    // the next head may join the line some time later, before it claims in front
    if (head_ == nullptr)
        machine.no_head();
}

void WaitQueue::watch(std::shared_ptr<WaitQueue> const& self)
{
    if (self->watch_)
        return;
    self->watch_ = self->backend_->watch(self->range_, WatchAs::waiter, [weak = std::weak_ptr(self)](WatchEvent event) {
        if (auto const queue = weak.lock())
            queue->on_event(event);
    });
}

void WaitQueue::on_event(WatchEvent event)
{
    auto const head = head_ == nullptr ? TurnMachine::Head() : head_->as_head();
    carry_out(machine.news(event, head, runtime_->now(), runtime_->random()));
}

void WaitQueue::carry_out(TurnMachine::Step const& step)
{
    if (step.claim_at && head_ != nullptr)
        head_->claim_at(*step.claim_at);
    if (step.leave_line)
        backend_->leave_line(range_);
}

void WaitQueue::close()
{
    watch_.reset();
    head_ = nullptr;
    queue_.clear();
}

WaitQueues::WaitQueues(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend)
    : runtime_(std::move(runtime))
    , backend_(std::move(backend))
{
}

std::shared_ptr<WaitQueue> WaitQueues::find(KeyRange const& range) const
{
    if (queues_.empty())
        return nullptr;
    auto const found = queues_.find(range);
    return found == queues_.end() ? nullptr : found->second.queue;
}

std::shared_ptr<WaitQueue> WaitQueues::find_or_make(KeyRangePtr const& range)
{
    auto& entry = queues_.try_emplace(*range, *runtime_).first->second;
    if (!entry.queue)
        entry.queue = std::make_shared<WaitQueue>(range, runtime_, backend_, grace_);
    entry.linger.cancel();
    return entry.queue;
}

void WaitQueues::left(std::shared_ptr<WaitQueue> const& queue)
{
    auto const found = queues_.find(queue->range());
    if (queue->has_head() || found == queues_.end() || found->second.linger.pending())
        return;
    found->second.linger.after(TurnMachine::linger, std::weak_ptr(self_), [range = queue->range()](WaitQueues& self) {
        self.end_linger(range);
    });
}

void WaitQueues::end_linger(KeyRange const& range)
{
    auto const found = queues_.find(range);
    if (found->second.queue->has_head())
        return;
    found->second.queue->close();
    queues_.erase(found);
}

void WaitQueues::gave_up(KeyRangePtr const& range) const
{
    auto const queue = find(*range);
    bool const others_wait = queue && queue->has_waiters();
    if (queue)
        queue->machine.gave_up(others_wait);
    if (others_wait)
        return;
    backend_->leave_line(range);
}

void WaitQueues::release_begins(KeyRange const& range, Instant now) const
{
    if (auto const queue = find(range))
        queue->machine.release_begins(now);
}

void WaitQueues::release_ends(KeyRangePtr const& range, bool freed, bool named_another)
{
    if (named_another) {
        auto const queue = find_or_make(range);
        queue->carry_out(queue->machine.release_named_another(runtime_->now(), runtime_->random()));
        left(queue);
    } else if (auto const queue = find(*range)) {
        queue->carry_out(queue->machine.release_ends(freed));
    }
}

void WaitQueues::close()
{
    auto const all = std::exchange(queues_, {});
    for (auto const& [range, entry] : all)
        entry.queue->close();
}

void Turn::join(std::shared_ptr<WaitQueue> queue)
{
    queue_ = std::move(queue);
    queue_->join(waiter_);
}

Instant Turn::begin(Instant now)
{
    auto queue = queues_.find(*range_);
    if (!queue)
        return at_once;
    // behind a head, later acquisitions wait for their turn
    if (queue->has_head()) {
        join(std::move(queue));
        return Instant::max();
    }
    lines_up_ = notified_ && queue->machine.lines_up();
    auto const opens = queue->machine.opens_at(now, queues_.random());
    if (opens)
        join(queues_.find_or_make(range_));
    return opens.value_or(at_once);
}

std::optional<Instant> Turn::found_held(Instant sent)
{
    // The store has answered that all keys are held: from now on one acquisition contends, and the others queue.
    if (!queue_) {
        join(queues_.find_or_make(range_));
        if (lines_up_)
            queue_->machine.stands_in_line();
    }
    queue_->machine.found_held(sent);
    if (!queue_->is_head(waiter_))
        return Instant::max();
    if (notified_)
        WaitQueue::watch(queue_);
    return lines_up_ && queue_->machine.named_since(sent) ? std::optional(at_once) : std::nullopt;
}

void Turn::answered(Waits place, ClaimReply const& reply)
{
    if (std::holds_alternative<Granted>(reply) || std::holds_alternative<Unconfirmed>(reply)) {
        if (auto const queue = queues_.find(*range_))
            queue->carry_out(queue->machine.granted(place, queue->is_head(waiter_)));
    } else if (queue_ && std::holds_alternative<Busy>(reply)) {
        queue_->carry_out(queue_->machine.placed(queues_.now()));
    } else if (queue_) {
        queue_->machine.claim_failed(place);
    }
}

void Turn::end(bool leaves_line)
{
    if (auto const queue = std::exchange(queue_, nullptr)) {
        queue->leave(waiter_);
        queues_.left(queue);
    }
    if (leaves_line)
        queues_.gave_up(range_);
}

Waits Turn::place()
{
    if (!notified_)
        return Waits::no;
    if (queue_)
        return queue_->machine.next_place();
    return lines_up_ ? Waits::in_line : Waits::no;
}

bool Turn::may_stand_in_line() const noexcept
{
    return lines_up_ || (queue_ && queue_->machine.lined_up());
}

bool Turn::may_stay_in_line(bool overlap) const noexcept
{
    return (overlap || (queue_ && queue_->machine.place_may_stay())) && may_stand_in_line();
}

std::optional<Instant> Turn::freed_at() noexcept
{
    return queue_ ? queue_->machine.freed_at() : std::nullopt;
}

} // namespace tenure::engine
