// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Cluster: requests that wait for the map, and nodes without slots.
#include "cluster.hpp"

#include "redirect.hpp"

#include "store/redis/link/subscriber.hpp"

#include <algorithm>
#include <utility>

namespace tenure::redis
{

namespace
{

using namespace std::chrono_literals;

// How long a node without slots is kept: pending replies arrive meanwhile, and a hanging request ends as lost.
constexpr auto unneeded_grace = 1000ms;
// With fewer waiting tasks each look at all of them is cheap.
constexpr std::size_t few = 64;
// A look at one task takes less than a tenth of this.
constexpr auto pause_per_task = 1us;

} // namespace

std::shared_ptr<Cluster> Cluster::make(std::shared_ptr<Runtime> runtime, ClusterAccess access)
{
    auto cluster = std::make_shared<Cluster>(Private{}, std::move(runtime), std::move(access));
    cluster->topology_->on_change([weak = std::weak_ptr(cluster)] {
        if (auto const self = weak.lock())
            self->map_changed();
    });
    cluster->nodes_->on_reachable([weak = std::weak_ptr(cluster)](ServerAddress const& address) {
        auto const self = weak.lock();
        if (!self || !self->topology_->map().serves(address))
            return;
        if (auto const handler = self->reachable_)
            handler();
    });
    cluster->nodes_->on_moved([weak = std::weak_ptr(cluster)](
                                  ServerAddress const& asked, std::string const& channel, resp::Value const& reply) {
        auto const self = weak.lock();
        if (!self || self->closed_)
            return;
        auto const redirect = read_redirect(reply, asked);
        if (redirect && redirect->kind == Redirect::Kind::moved)
            self->topology_->learn(redirect->slot, redirect->address);
        else
            self->topology_->refresh();
        if (auto const handler = self->channel_moved_)
            handler(asked, channel);
    });
    return cluster;
}

Cluster::Cluster(Private, std::shared_ptr<Runtime> runtime, ClusterAccess access)
    : runtime_(std::move(runtime))
    , waiter_(make_waiter_name(*runtime_))
    , nodes_(std::make_shared<ClusterNodes>(runtime_, std::move(access.connect), waiter_))
    , topology_(std::make_shared<Topology>(runtime_, nodes_, std::move(access.seeds), access.tls, access.name))
    , name_(std::move(access.name))
    , timer_(*runtime_)
{
}

Cluster::~Cluster()
{
    close();
}

ClusterNode* Cluster::serving(HashSlot slot)
{
    auto const* const owner = topology_->map().owner(slot);
    if (owner == nullptr) {
        topology_->refresh();
        return nullptr;
    }
    auto& node = nodes_->at(*owner);
    node.used = runtime_->now();
    return &node;
}

void Cluster::wait(Deadline const& until, bool on_change, Task task)
{
    waiting_.emplace(until.at(), Waiting{std::move(task), until, on_change});
    arm();
}

void Cluster::drop_abandoned()
{
    if (closed_)
        return;
    nodes_->drop_abandoned();
    look_due_ = !waiting_.empty();
    drop_abandoned_tasks();
    arm();
}

void Cluster::drop_abandoned_tasks()
{
    auto const now = runtime_->now();
    auto const many = waiting_.size();
    if (!look_due_ || (many > few && now < look_after_))
        return;
    look_due_ = false;
    look_after_ = now + pause_per_task * static_cast<Clock::rep>(many);
    run_waiting([](Waiting const& waiting) { return waiting.until.abandoned(); });
}

void Cluster::run_waiting(std::function<bool(Waiting const&)> const& chosen)
{
    std::vector<Task> tasks;
    for (auto entry = waiting_.begin(); entry != waiting_.end();) {
        if (chosen(entry->second)) {
            tasks.push_back(std::move(entry->second.task));
            entry = waiting_.erase(entry);
        } else {
            ++entry;
        }
    }
    for (auto& task : tasks)
        task();
}

void Cluster::map_changed()
{
    if (closed_)
        return;
    tend();
    run_waiting([](Waiting const& waiting) { return waiting.on_change; });
    // copies, because a handler may close this object
    if (auto const handler = changed_)
        handler();
    if (auto const handler = reachable_)
        handler();
}

void Cluster::tend()
{
    tend_at_ =
        topology_->known()
            ? nodes_->keep_needed(
                  [this](ServerAddress const& address) { return topology_->map().serves(address); }, unneeded_grace)
            : Instant::max();
    arm();
}

void Cluster::arm()
{
    auto first = waiting_.empty() ? tend_at_ : std::min(tend_at_, waiting_.begin()->first);
    if (look_due_)
        first = std::min(first, look_after_);
    if (closed_ || (timer_.pending() && timer_.due() == first))
        return;
    if (first == Instant::max())
        timer_.cancel();
    else
        timer_.at(first, weak_from_this(), &Cluster::tick);
}

void Cluster::tick()
{
    auto const now = runtime_->now();
    std::vector<Task> tasks;
    while (!waiting_.empty() && waiting_.begin()->first <= now) {
        tasks.push_back(std::move(waiting_.begin()->second.task));
        waiting_.erase(waiting_.begin());
    }
    if (tend_at_ <= now)
        tend();
    drop_abandoned_tasks();
    arm();
    for (auto& task : tasks)
        task();
}

void Cluster::close() noexcept
{
    // the destructor runs on any thread, and must have nothing left to do or write
    if (closed_)
        return;
    closed_ = true;
    changed_ = nullptr;
    reachable_ = nullptr;
    channel_moved_ = nullptr;
    timer_.cancel();
    topology_->close();
    nodes_->close();
    for (auto& [until, waiting] : std::exchange(waiting_, {}))
        runtime_->post(std::move(waiting.task));
}

} // namespace tenure::redis
