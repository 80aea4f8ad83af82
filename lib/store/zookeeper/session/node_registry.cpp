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

void read_node(
    SessionPtr const& session, std::string const& path, std::string const& generation, bool after_write,
    SnapshotHandler handler)
{
    auto const snapshot = std::make_shared<NodeSnapshot>();
    if (after_write)
        session->write([snapshot](Response const& response) { snapshot->write = response; });
    session->ask({Request::Kind::get, generation}, [snapshot](Response const& response) {
        snapshot->generation = response;
        snapshot->generation.of_generation = response.code != ZOK;
    });
    session->ask(
        {Request::Kind::get, path}, [snapshot, handler = std::move(handler)](Response const& response) mutable {
            snapshot->node = response;
            handler(*snapshot);
        });
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
    node->looked_at = agenda_.emplace(node->deadline, node.get());
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
    node.room.give_back();
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

void NodeRegistry::delete_node(
    OwnedNodePtr const& node, Condition const& condition, ResponseHandler handler, std::function<void()> again)
{
    auto& of_path = deleting_[node->path];
    if (auto const under_way = of_path.lock()) {
        under_way->push_back(std::move(again));
        return;
    }
    auto const waiting = std::make_shared<std::vector<std::function<void()>>>();
    of_path = waiting;
    node->session->ask(
        {Request::Kind::remove,
         node->path,
         {},
         condition.version,
         false,
         node->generation,
         condition.generation_version},
        [self = shared_from_this(), node, waiting, handler = std::move(handler)](Response const& removed) mutable {
            self->deleting_.erase(node->path);
            if (!is_answered(removed.code))
                node->removal_unknown = true;
            if (removed.code == ZOK || (removed.code == ZNONODE && !removed.of_generation))
                self->remove(*node);
            handler(removed);
            for (auto const& again : std::exchange(*waiting, {}))
                again();
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
    if (closed_ || (timer_.pending() && armed_for_ <= when))
        return;
    armed_for_ = when;
    timer_.at(when, weak_from_this(), &NodeRegistry::remove_lapsed);
}

void NodeRegistry::remove_lapsed()
{
    auto const now = runtime_->now();
    std::vector<OwnedNodePtr> due;
    while (!agenda_.empty() && agenda_.begin()->first <= now) {
        auto& node = *agenda_.begin()->second;
        agenda_.erase(agenda_.begin());
        // deadlines only move later, and are found here
        if (node.deadline <= now) {
            node.deadline = now + retry;
            due.push_back(node.shared_from_this());
        }
        node.looked_at = agenda_.emplace(node.deadline, &node);
    }
    for (auto const& node : due)
        remove_if_lapsed(node);
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

void NodeRegistry::remove_if_lapsed(OwnedNodePtr const& node)
{
    // a look that waits in the queue of a slow server is not repeated
    if (!node->session->connected() || is_claimed(*node) || node->being_removed)
        return;
    /** As long as any of its requests is pending. */
    struct Removing {
        OwnedNodePtr node;
        explicit Removing(OwnedNodePtr of)
            : node(std::move(of))
        {
            node->being_removed = true;
        }
        Removing(Removing const&) = delete;
        Removing& operator=(Removing const&) = delete;
        ~Removing() { node->being_removed = false; }
    };
    auto removing = std::make_shared<Removing>(node);
    // after a write, because requests over another connection may reach this server late
    read_node(
        node->session, node->path, node->generation, true,
        [self = shared_from_this(), node, removing = std::move(removing),
         extensions = node->extensions](NodeSnapshot const& snapshot) {
            if (node->state == OwnedNode::State::gone || snapshot.failure() != nullptr)
                return;
            // Claims and renewals that were requested before this read are answered by now. Later ones reach the server
            // after the deletion.
            if (node->extensions != extensions || self->is_claimed(*node))
                return;
            auto const& read = snapshot.node;
            // a repeated claim may have left two entries for one node: the other one remains
            auto const other = read.code == ZOK ? self->holder_of(node->owner, node->path, read.stat.czxid) : nullptr;
            if (read.code == ZNONODE || !node->matches(read) || (other != nullptr && other != node)) {
                self->remove(*node);
                return;
            }
            // a failed deletion, or one during another removal, is tried again
            self->delete_node(
                node, {snapshot.generation_version(), read.stat.version}, [removing](Response const&) {}, [] {});
        });
}

} // namespace tenure::zookeeper
