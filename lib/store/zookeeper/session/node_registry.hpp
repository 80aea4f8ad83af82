// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/names.hpp"
#include "runtime/timer.hpp"
#include "session.hpp"
#include "steps.hpp"
#include "store/zookeeper/znodes.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace tenure::zookeeper
{

/** A node that this process created, or may have created, for one of its owners. A claim's handle. */
struct OwnedNode {
    enum class State {
        /// its creation is pending, or its outcome is unknown
        asked,
        held,
        /// it was deleted or never created
        gone
    };

    SessionPtr session;
    Session::Use use;
    /// of the session, until it is certain that the node is gone
    SessionRoom::Taken room;
    /// the session that the node belongs to, by the server's number
    std::int64_t session_id = 0;
    KeyRangePtr range;
    std::uint32_t index = 0;
    std::string path;
    /// a copy, because a shared text would keep the claim alive, which owns this handle
    std::string owner;
    State state = State::asked;
    /// number of claims that are creating it or reading its owner
    int under_way = 0;
    /// its removal was requested, and the outcome is unknown
    bool removal_unknown = false;
    /// of the node; 0: unknown
    std::int64_t czxid = 0;
    /// the node that every claim of the key writes to
    std::string generation;
    /// version of the generation from the transaction that created the node: while it is unchanged, no other client has
    /// claimed the key. Unset: unknown
    std::optional<std::int32_t> generation_version;
    /// when it expires unless it is renewed, or when its removal is tried again
    Instant deadline{};
    /// number of grants and renewals
    std::uint64_t extensions = 0;
    /// the registry is removing it, because it has expired
    bool being_removed = false;
    /// of the registry: when it looks at this node again
    std::multimap<Instant, std::shared_ptr<OwnedNode>>::iterator looked_at = {};

    /** A place whose digits are not known yet. */
    [[nodiscard]] bool unnamed() const { return range->shares && (path.back() < '0' || path.back() > '9'); }
    /** True if the node that was read is this one. Its contents count only while its czxid is unknown. */
    [[nodiscard]] bool matches(Response const& read) const;
    /** True if the node that was read is this one, and still has the owner. */
    [[nodiscard]] bool still_owned(Response const& read) const;
};
using OwnedNodePtr = std::shared_ptr<OwnedNode>;

/** All nodes of this process, by owner. Nodes live as long as their session, which lives as long as the process is
 *  connected; so the registry removes a node that was not renewed for its ttl. */
class NodeRegistry : public std::enable_shared_from_this<NodeRegistry>
{
public:
    explicit NodeRegistry(std::shared_ptr<Runtime> runtime)
        : runtime_(std::move(runtime))
    {
    }
    NodeRegistry(NodeRegistry const&) = delete;
    NodeRegistry& operator=(NodeRegistry const&) = delete;
    ~NodeRegistry() = default;

    [[nodiscard]] OwnedNodePtr
    add(SessionPtr session, KeyRangePtr range, std::uint32_t index, std::string path, std::string generation,
        std::string owner);
    /** Removes the entry of a node that is gone, or belongs to another client. */
    void remove(OwnedNode& node);
    /** Conditions of a removal. */
    struct Condition {
        /// unset: any
        std::optional<std::int32_t> generation_version;
        std::int32_t version = 0;
    };
    /** Deletes a node, and removes its entry.
     *
     *  The node of the next owner of the key has the same version, and a condition without a generation cannot
     *  distinguish it from this one. So only one deletion of a node is pending at a time: a later removal is based on
     *  an old read, and gets nullopt after the pending one, to start over. */
    [[nodiscard]] store::Step<std::optional<Response>> delete_node(OwnedNodePtr node, Condition condition);
    /** Sets the new deadline after a grant or renewal. */
    void extend(OwnedNode& node, Instant deadline);
    /** Handles the end of a session: all its nodes are gone. */
    void session_expired(std::int64_t session_id);

    /** The entry of this node; null: unknown in this process. */
    [[nodiscard]] OwnedNodePtr holder_of(std::string const& owner, std::string const& path, std::int64_t czxid) const;
    /** The node of a claim. Null proves that the claim is lost: the nodes of an ended session are gone, and another
     *  session's node cannot be this one. */
    [[nodiscard]] OwnedNodePtr find(Claim const& claim) const;
    /** All nodes of the owner in the range. */
    [[nodiscard]] std::vector<OwnedNodePtr> find_all(std::string const& owner, KeyRange const& range) const;
    /** True if a claim of this process is creating the node, or reading its owner. */
    [[nodiscard]] bool creating(std::string const& path) const { return creating_.contains(path); }
    /** Begins a claim's creation of the node, which ends when the claim knows whether it has the node. */
    void begin_creating(OwnedNode& node);
    void end_creating(OwnedNode& node);
    void close() noexcept;

private:
    using DeletionWaiters = std::vector<OneShot<void(std::optional<Response>&&)>>;

    void arm(Instant when);
    /** The node is gone: it no longer takes room, and keeps its session open no longer. */
    static void let_go(OwnedNode& node) noexcept;
    void remove_lapsed();
    /** True if a pending claim may still get the node. */
    [[nodiscard]] bool is_claimed(OwnedNode const& node) const;
    [[nodiscard]] static store::Request<std::monostate>
    remove_if_lapsed(std::shared_ptr<NodeRegistry> self, OwnedNodePtr node);

    std::shared_ptr<Runtime> runtime_;
    std::unordered_multimap<std::string, OwnedNodePtr> by_owner_;
    /// by when each node is looked at again, which is never after its deadline
    std::multimap<Instant, OwnedNodePtr> agenda_;
    std::unordered_map<std::string, int> creating_;
    /// removals that wait for the end of a deletion, by path; the request for the deletion owns the list
    std::unordered_map<std::string, std::weak_ptr<DeletionWaiters>> deleting_;
    Timer timer_{*runtime_};
    bool closed_ = false;
};

} // namespace tenure::zookeeper
