// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Place queues: the heads, the next heads, and the part of each acquisition.
#include "place_queue.hpp"

#include "acquisition.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

namespace tenure::engine
{

namespace
{

/// how long the subscription of a key outlives its last waiter, because contention returns
constexpr std::chrono::seconds linger_time{2};

} // namespace

PlaceQueue::PlaceQueue(KeyRangePtr range, Runtime& runtime, std::shared_ptr<Backend> backend)
    : linger(runtime)
    , range_(std::move(range))
    , backend_(std::move(backend))
{
}

bool PlaceQueue::next_is_head() const noexcept
{
    return heads_ < waiting_.size() && PlaceMachine::admits(heads_, waiting_.front()->share, waiting_[heads_]->share);
}

bool PlaceQueue::join(PlaceTurn& turn)
{
    waiting_.push_back(&turn);
    bool const is_head = heads_ + 1 == waiting_.size() && next_is_head();
    heads_ += is_head ? 1 : 0;
    return is_head;
}

void PlaceQueue::leave(PlaceTurn& turn)
{
    auto const found = std::ranges::find(waiting_, &turn);
    if (found == waiting_.end())
        return;
    if (std::cmp_less(std::distance(waiting_.begin(), found), heads_))
        --heads_;
    waiting_.erase(found);
    // acquisitions whose wait is over leave in the loop below
    if (std::exchange(passing_, true))
        return;
    try {
        while (next_is_head())
            waiting_[heads_++]->waiter.claim_at(at_once);
    } catch (...) {
        passing_ = false;
        throw;
    }
    passing_ = false;
}

PlaceTurn* PlaceQueue::heir_of(PlaceTurn const& turn) const noexcept
{
    if (heads_ >= waiting_.size() || !(waiting_[heads_]->share == turn.share))
        return nullptr;
    return waiting_[heads_];
}

void PlaceQueue::watch(std::shared_ptr<PlaceQueue> const& self)
{
    if (self->watch_)
        return;
    self->watch_ = self->backend_->watch(self->range_, WatchAs::waiter, [weak = std::weak_ptr(self)](WatchNews news) {
        if (auto const queue = weak.lock())
            queue->on_news(news);
    });
}

void PlaceQueue::on_news(WatchNews news)
{
    if (news.event == WatchEvent::unavailable)
        messages_come_ = false;
    else if (news.event == WatchEvent::in_force)
        messages_come_ = true;
    // copies, because grants change the queue
    std::vector<std::shared_ptr<Acquisition>> heads;
    for (std::size_t i = 0; i < heads_; ++i)
        heads.push_back(waiting_[i]->waiter.shared_from_this());
    for (auto const& head : heads)
        head->heard(news);
}

void PlaceQueue::close()
{
    watch_.reset();
    waiting_.clear();
    heads_ = 0;
}

PlaceQueues::PlaceQueues(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend)
    : runtime_(std::move(runtime))
    , backend_(std::move(backend))
{
}

std::shared_ptr<PlaceQueue> PlaceQueues::find_or_make(KeyRangePtr const& range)
{
    auto& queue = queues_[range->prefix];
    if (!queue)
        queue = std::make_shared<PlaceQueue>(range, *runtime_, backend_);
    queue->linger.cancel();
    return queue;
}

void PlaceQueues::left(PlaceQueue& queue)
{
    if (!queue.empty() || queue.linger.pending())
        return;
    if (!queue.subscribed())
        end_linger(queue.key());
    else
        queue.linger.after(
            linger_time, std::weak_ptr(self_), [key = queue.key()](PlaceQueues& self) { self.end_linger(key); });
}

void PlaceQueues::end_linger(std::string const& key)
{
    auto const found = queues_.find(key);
    if (found == queues_.end() || !found->second->empty())
        return;
    found->second->close();
    queues_.erase(found);
}

void PlaceQueues::close()
{
    auto const all = std::exchange(queues_, {});
    for (auto const& [key, queue] : all)
        queue->close();
}

Instant PlaceTurn::begin()
{
    queue_ = queues_.find_or_make(range_);
    return queue_->join(*this) ? at_once : Instant::max();
}

void PlaceTurn::found_held()
{
    waits_ = true;
    if (notified_)
        PlaceQueue::watch(queue_);
}

void PlaceTurn::end()
{
    if (auto const queue = std::exchange(queue_, nullptr)) {
        queue->leave(*this);
        queues_.left(*queue);
    }
}

void PlaceTurn::complete(ClaimRequest& request) const
{
    request.share = share;
    request.waits = queue_ ? Waits::in_line : Waits::no;
}

} // namespace tenure::engine
