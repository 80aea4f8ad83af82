// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// RequestQueue: three queues, and indexes by deadline and by owner.
#include "request_queue.hpp"

#include <iterator>
#include <utility>

namespace tenure::etcd
{

namespace
{

/// `take_abandoned` passes over the queue once in this fraction of its size
constexpr std::size_t calls_per_pass = 16;

} // namespace

void RequestQueue::add(Entry entry)
{
    insert(std::move(entry), true);
}

void RequestQueue::put_back(Entry entry)
{
    insert(std::move(entry), false);
}

void RequestQueue::insert(Entry entry, bool at_end)
{
    auto& line = line_of(entry);
    auto const at = entry.request.not_after.at();
    auto const owner = entry.request.sender.owner;
    auto const node =
        line.insert(at_end ? line.end() : line.begin(), Node{std::move(entry), deadlines_.end(), owners_.end()});
    if (at != Instant::max())
        node->deadline = deadlines_.emplace(at, node);
    if (owner != nullptr)
        node->owner = owners_.emplace(owner, node);
    ++size_;
}

RequestQueue::Entry RequestQueue::take_out(Nodes::iterator node)
{
    auto& line = line_of(node->entry);
    auto entry = std::move(node->entry);
    if (node->deadline != deadlines_.end())
        deadlines_.erase(node->deadline);
    if (node->owner != owners_.end())
        owners_.erase(node->owner);
    line.erase(node);
    --size_;
    return entry;
}

std::optional<RequestQueue::Entry> RequestQueue::take_next()
{
    for (auto& line : lines_)
        if (!line.empty())
            return take_out(line.begin());
    return std::nullopt;
}

std::vector<RequestQueue::Entry> RequestQueue::take_overdue(Instant now)
{
    std::vector<Entry> overdue;
    while (!deadlines_.empty() && deadlines_.begin()->first <= now)
        overdue.push_back(take_out(deadlines_.begin()->second));
    return overdue;
}

std::vector<RequestQueue::Entry> RequestQueue::take_of(OwnerTag owner)
{
    std::vector<Entry> found;
    for (auto next = owners_.find(owner); next != owners_.end(); next = owners_.find(owner))
        found.push_back(take_out(next->second));
    return found;
}

std::vector<RequestQueue::Entry> RequestQueue::take_abandoned()
{
    if (++abandoned_calls_ * calls_per_pass < size_)
        return {};
    abandoned_calls_ = 0;
    return take_if([](HttpRequest const& request) { return request.not_after.abandoned(); });
}

std::vector<RequestQueue::Entry> RequestQueue::take_if(std::function<bool(HttpRequest const&)> const& wanted)
{
    std::vector<Entry> found;
    for (auto& line : lines_)
        for (auto node = line.begin(); node != line.end();) {
            auto const following = std::next(node);
            if (wanted(node->entry.request))
                found.push_back(take_out(node));
            node = following;
        }
    return found;
}

std::vector<RequestQueue::Entry> RequestQueue::take_all()
{
    return take_if([](HttpRequest const&) { return true; });
}

void RequestQueue::note_progress(Instant now) const noexcept
{
    for (auto const& [owner, node] : owners_)
        if (node->entry.request.sender.line == Line::later_steps)
            node->entry.request.not_after.progressed(now);
}

Instant RequestQueue::next_deadline() const noexcept
{
    return deadlines_.empty() ? Instant::max() : deadlines_.begin()->first;
}

} // namespace tenure::etcd
