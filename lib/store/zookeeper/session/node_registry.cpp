// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// NodeRegistry: nodes of this process, and their removal.
#include "node_registry.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tenure::zookeeper
{

using namespace std::chrono_literals;

namespace
{

/// pause between two attempts to remove an expired node
constexpr auto retry = 250ms;

} // namespace

bool OwnedNode::matches(Response const& read) const
{
    return czxid != 0 ? read.stat.czxid == czxid : still_owned(read);
}

bool OwnedNode::still_owned(Response const& read) const
{
    return read.stat.ephemeral_owner == session_id && (czxid == 0 || read.stat.czxid == czxid) &&
           decode(read.data).owner == owner;
}

OwnedNodePtr NodeRegistry::add(
    SessionPtr session, KeyRangePtr range, std::uint32_t index, std::string path, std::string generation,
    std::string owner)
{
    auto node = std::make_shared<OwnedNode>();
    node->use = session->use();
    node->session_id = session->id();
    node->deadline = runtime_->now() + session->timeout();
    node->session = std::move(session);
    node->range = std::move(range);
    node->index = index;
    node->path = std::move(path);
    node->generation = std::move(generation);
    node->owner = owner;
    node->room = node->session->room().take(SessionRoom::bytes_of(node->path));
    by_owner_.emplace(std::move(owner), node);
    node->looked_at = agenda_.emplace(node->deadline, node);
    arm(node->deadline);
    return node;
}

void NodeRegistry::begin_creating(OwnedNode& node)
{
    if (node.under_way++ == 0)
        ++creating_[node.path];
}

void NodeRegistry::end_creating(OwnedNode& node)
{
    if (--node.under_way > 0)
        return;
    if (auto const found = creating_.find(node.path); found != creating_.end() && --found->second == 0)
        creating_.erase(found);
}

void NodeRegistry::let_go(OwnedNode& node) noexcept
{
    node.state = OwnedNode::State::gone;
    node.use = nullptr;
    node.room = nullptr;
}

void NodeRegistry::remove(OwnedNode& node)
{
    auto const [first, last] = by_owner_.equal_range(node.owner);
    for (auto entry = first; entry != last; ++entry)
        if (entry->second.get() == &node) {
            auto const kept = entry->second; // may be the last reference
            agenda_.erase(node.looked_at);
            by_owner_.erase(entry);
            let_go(node);
            return;
        }
    let_go(node); // the registry was closed
}

void NodeRegistry::extend(OwnedNode& node, Instant deadline)
{
    node.deadline = std::max(node.deadline, deadline);
    ++node.extensions;
}

store::Step<std::optional<Response>> NodeRegistry::delete_node(OwnedNodePtr node, Condition condition)
{
    using Handler = OneShot<void(std::optional<Response>&&)>;
    return store::Step<std::optional<Response>>([self = shared_from_this(), node = std::move(node),
                                                 condition](Handler handler) {
        auto& of_path = self->deleting_[node->path];
        if (auto const under_way = of_path.lock()) {
            under_way->push_back(std::move(handler));
            return;
        }
        auto const waiting = std::make_shared<DeletionWaiters>();
        of_path = waiting;
        Request removal{Request::Kind::remove, node->path};
        removal.version = condition.version;
        removal.generation = node->generation;
        removal.generation_version = condition.generation_version;
        node->session->ask(
            std::move(removal), [self, node, waiting, handler = std::move(handler)](Response const& removed) mutable {
                self->deleting_.erase(node->path);
                if (!is_answered(removed.code))
                    node->removal_unknown = true;
                if (removed.code == ZOK || (removed.code == ZNONODE && !removed.of_generation))
                    self->remove(*node);
                handler(removed);
                for (auto& again : std::exchange(*waiting, {}))
                    again(std::nullopt);
            });
    });
}

void NodeRegistry::session_expired(std::int64_t session_id)
{
    if (session_id == 0)
        return;
    std::erase_if(by_owner_, [this, session_id](auto const& entry) {
        auto& node = *entry.second;
        if (node.session_id != session_id)
            return false;
        agenda_.erase(node.looked_at);
        let_go(node);
        return true;
    });
}

OwnedNodePtr NodeRegistry::holder_of(std::string const& owner, std::string const& path, std::int64_t czxid) const
{
    auto const [first, last] = by_owner_.equal_range(owner);
    for (auto entry = first; entry != last; ++entry)
        if (auto const& node = entry->second;
            node->state == OwnedNode::State::held && node->path == path && node->czxid == czxid)
            return node;
    return nullptr;
}

OwnedNodePtr NodeRegistry::find(Claim const& claim) const
{
    if (claim.handle == nullptr && claim.range->shares)
        return nullptr; // a place that waits
    if (claim.handle != nullptr) {
        auto node = std::static_pointer_cast<OwnedNode>(claim.handle);
        return node->state == OwnedNode::State::gone ? nullptr : node;
    }
    for (auto const& node : find_all(claim.owner, *claim.range))
        if (node->index == claim.index)
            return node;
    return nullptr;
}

std::vector<OwnedNodePtr> NodeRegistry::find_all(std::string const& owner, KeyRange const& range) const
{
    std::vector<OwnedNodePtr> found;
    auto const [first, last] = by_owner_.equal_range(owner);
    for (auto entry = first; entry != last; ++entry)
        if (*entry->second->range == range)
            found.push_back(entry->second);
    return found;
}

void NodeRegistry::close() noexcept
{
    closed_ = true;
    timer_.cancel();
    agenda_.clear();
    by_owner_.clear();
    creating_.clear();
    deleting_.clear();
}

void NodeRegistry::arm(Instant when)
{
    if (!closed_)
        timer_.by(when, weak_from_this(), &NodeRegistry::remove_lapsed);
}

void NodeRegistry::remove_lapsed()
{
    auto const now = runtime_->now();
    std::vector<OwnedNodePtr> due;
    while (!agenda_.empty() && agenda_.begin()->first <= now) {
        auto const node = agenda_.begin()->second;
        agenda_.erase(agenda_.begin());
        // deadlines only move later, and are found here
        if (node->deadline <= now) {
            node->deadline = now + retry;
            due.push_back(node);
        }
        node->looked_at = agenda_.emplace(node->deadline, node);
    }
    for (auto const& node : due)
        remove_if_lapsed(shared_from_this(), node).start([](std::monostate) {});
    if (!agenda_.empty())
        arm(agenda_.begin()->first);
}

bool NodeRegistry::is_claimed(OwnedNode const& node) const
{
    auto const [first, last] = by_owner_.equal_range(node.owner);
    return std::any_of(first, last, [&node](auto const& entry) {
        return entry.second->under_way > 0 && entry.second->path == node.path;
    });
}

store::Request<std::monostate> NodeRegistry::remove_if_lapsed(std::shared_ptr<NodeRegistry> self, OwnedNodePtr node)
{
    // a look that waits in the queue of a slow server is not repeated
    if (!node->session->connected() || self->is_claimed(*node) || std::exchange(node->being_removed, true))
        co_return std::monostate();
    std::shared_ptr<void> const mark(nullptr, [&node](void*) { node->being_removed = false; });
    auto const extensions = node->extensions;
    if (node->unnamed()) {
        auto search = find_place(node->session, node->path);
        auto const found = co_await search;
        if (found.code == ZNONODE && !self->is_claimed(*node))
            self->remove(*node);
        if (found.code != ZOK)
            co_return std::monostate();
        node->path = found.path;
    }
    // after a write, because requests over another connection may reach this server late
    auto read = read_node(node->session, node->path, node->generation, true);
    auto const seen = co_await read;
    // Claims and renewals that were requested before this read are answered by now. Later ones reach the server after
    // the deletion.
    if (node->state == OwnedNode::State::gone || seen.failure() != nullptr || node->extensions != extensions ||
        self->is_claimed(*node))
        co_return std::monostate();
    auto const& found = seen.node;
    // a repeated claim may have left two entries for one node: the other one remains
    auto const other = found.code == ZOK ? self->holder_of(node->owner, node->path, found.stat.czxid) : nullptr;
    if (found.code == ZNONODE || !node->matches(found) || (other != nullptr && other != node)) {
        self->remove(*node);
        co_return std::monostate();
    }
    // a failed deletion, or one during another removal, is tried again
    if (auto const pending = self->deleting_.find(node->path);
        pending == self->deleting_.end() || pending->second.expired()) {
        auto deletion = self->delete_node(node, {seen.generation_version(), found.stat.version});
        co_await deletion;
    }
    co_return std::monostate();
}

} // namespace tenure::zookeeper
