// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Wait queues: the head, the next head, and the line of the store.
#include "wait_queue.hpp"

#include "acquisition.hpp"

#include <algorithm>
#include <utility>

namespace tenure::engine
{

WaitQueue::WaitQueue(
    KeyRangePtr range, std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend, Grace const& grace)
    : range_(std::move(range))
    , runtime_(std::move(runtime))
    , backend_(std::move(backend))
    , grace_(grace)
    , keeps_line_(backend_->capabilities().keeps_line)
{
}

bool WaitQueue::join(Acquisition& acquisition)
{
    if (head_ == nullptr)
        head_ = &acquisition;
    else if (head_ != &acquisition)
        queue_.push_back(&acquisition);
    return head_ == &acquisition;
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
        while (head_ == nullptr && !queue_.empty())
            promote_next();
    } catch (...) {
        passing_ = false;
        throw;
    }
    passing_ = false;
    // the next head may join the line some time later, before it claims in front
    if (head_ == nullptr)
        named_ = false;
}

void WaitQueue::promote_next()
{
    head_ = queue_.front();
    queue_.pop_front();
    if (runtime_->now() < held_until_) {
        head_->hold_back(held_until_);
        return;
    }
    // tries at once, because the old head may have consumed a hint
    head_->try_now();
}

void WaitQueue::watch()
{
    if (watch_)
        return;
    watch_ = backend_->watch(range_, WatchAs::waiter, [weak = weak_from_this()](WatchEvent event) {
        if (auto self = weak.lock())
            self->on_event(event);
    });
}

void WaitQueue::on_event(WatchEvent event)
{
    switch (event) {
    case WatchEvent::in_force:
        was_in_force_ = true;
        polling_ = false;
        // releases before the subscription was in force were not announced to this wait queue
        hint();
        break;
    case WatchEvent::hint:
        note_release();
        hint();
        break;
    case WatchEvent::our_turn:
        note_release();
        // a pending claim may find the keys held after the name left the line, and add it again
        place_may_stay_ = place_may_stay_ || (head_ != nullptr && head_->asking());
        // kept for the next head; a head with a pending claim asks again after the answer
        named_ = head_ != nullptr;
        if (head_ == nullptr)
            named_nobody_at_ = runtime_->now();
        hint();
        break;
    case WatchEvent::others_turn:
        if (head_ != nullptr)
            head_->yield(grace_over(runtime_->now()));
        break;
    case WatchEvent::interrupted:
        break;
    case WatchEvent::unavailable:
        polling_ = true;
        // it would never be notified of its turn
        if (lined_up_)
            backend_->leave_line(range_);
        break;
    }
}

void WaitQueue::note_release()
{
    // a claim that is under way was sent because of an earlier release, or may get this one's key
    if (head_ != nullptr && (!freed_at_ || !head_->asking()))
        freed_at_ = runtime_->now();
}

void WaitQueue::hint()
{
    if (head_ != nullptr)
        head_->try_now();
}

Waits WaitQueue::next_place()
{
    if (!lines_up())
        return Waits::no;
    lined_up_ = true;
    return std::exchange(named_, false) ? Waits::in_front : Waits::in_line;
}

bool WaitQueue::named_since(Instant when)
{
    if (named_nobody_at_ < when)
        return false;
    named_nobody_at_ = Instant::min();
    named_ = place_may_stay_ = true;
    return true;
}

void WaitQueue::place_taken()
{
    // the store has stopped sending hints since the claim was sent
    if (!lines_up())
        backend_->leave_line(range_);
}

void WaitQueue::granted(Acquisition const& acquisition)
{
    named_ = false;
    // The removed name also stood for the head, which claims again and joins the line again.
    if (head_ != &acquisition)
        hint();
}

Instant WaitQueue::grace_over(Instant now)
{
    return grace_.over_at(now, runtime_->random());
}

Instant WaitQueue::opens_at(Instant now)
{
    if (releases_ > 0 && now < contended_until_)
        return std::max(held_until_, grace_over(now));
    return held_until_;
}

void WaitQueue::release_ends(bool freed)
{
    if (releases_ > 0)
        --releases_;
    if (freed)
        hint();
}

void WaitQueue::release_named_another()
{
    if (releases_ > 0)
        --releases_;
    freed_at_.reset();
    auto const now = runtime_->now();
    contended_until_ = now + linger;
    held_until_ = grace_over(now);
    if (head_ != nullptr)
        head_->hold_back(held_until_);
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
    auto& entry = queues_[*range];
    if (!entry.queue)
        entry.queue = std::make_shared<WaitQueue>(range, runtime_, backend_, grace_);
    runtime_->cancel(std::exchange(entry.linger, 0));
    return entry.queue;
}

void WaitQueues::left(std::shared_ptr<WaitQueue> const& queue)
{
    auto const found = queues_.find(queue->range());
    if (queue->closed() || found == queues_.end() || found->second.linger != 0)
        return;
    found->second.linger = runtime_->call_at(
        runtime_->now() + WaitQueue::linger, [this, alive = std::weak_ptr(alive_), range = queue->range()] {
            if (alive.expired())
                return;
            auto const entry = queues_.find(range);
            if (entry == queues_.end())
                return;
            entry->second.linger = 0;
            if (!entry->second.queue->closed()) {
                entry->second.queue->close();
                queues_.erase(entry);
            }
        });
}

void WaitQueues::gave_up(KeyRangePtr const& range) const
{
    auto const queue = find(*range);
    bool const others_wait = queue && queue->has_waiters();
    if (queue)
        queue->place_may_stay(others_wait);
    if (others_wait)
        return;
    backend_->leave_line(range);
}

void WaitQueues::release_begins(KeyRange const& range, Instant now) const
{
    if (auto const queue = find(range))
        queue->release_begins(now);
}

void WaitQueues::release_ends(KeyRange const& range, bool freed) const
{
    if (auto const queue = find(range))
        queue->release_ends(freed);
}

void WaitQueues::release_named_another(KeyRangePtr const& range)
{
    auto const queue = find_or_make(range);
    queue->release_named_another();
    left(queue);
}

void WaitQueues::close()
{
    auto const all = std::exchange(queues_, {});
    for (auto const& [range, entry] : all) {
        runtime_->cancel(entry.linger);
        entry.queue->close();
    }
}

} // namespace tenure::engine
