// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "wait_queues.hpp"

#include <utility>

namespace tenure::engine
{

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

void WaitQueues::release_begins(KeyRange const& range) const
{
    if (auto const queue = find(range))
        queue->release_begins();
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
