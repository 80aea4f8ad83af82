// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "runtime/timer.hpp"
#include "session.hpp"
#include "store/zookeeper/znodes.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tenure::zookeeper
{

/** A node that this process made, or may have made, for one of its owners. A claim's handle. */
struct OwnedNode {
    enum class State {
        /// its creation is under way, or its outcome is unknown
        asked,
        held,
        /// it is gone, or never was
        gone
    };

    SessionPtr session;
    Session::Use use;
    /// the session that the node belongs to, by the number that the server gave it
    std::int64_t session_id = 0;
    KeyRangePtr range;
    std::uint32_t index = 0;
    std::string path;
    /// text of its own: what it shares would be the claim that has this as its handle
    std::string owner;
    State state = State::asked;
    /// claims that are creating it just now, or reading whose it is
    int under_way = 0;
    /// its removal was requested, and the outcome is unknown
    bool removal_unknown = false;
    /// of the node; 0 while unknown
    std::int64_t czxid = 0;
    /// the node that every claim of the key writes to
    std::string generation;
    /// of the generation, from the transaction that created the node: while it is this, no other client has claimed
    /// the key. Unset: unknown
    std::optional<std::int32_t> generation_version;
    /// when it lapses unless it is renewed, or when its removal is tried again
    Instant deadline{};
    /// how often it was granted or renewed
    std::uint64_t extensions = 0;

    /** The node that was read is this one. Its contents count only while its czxid is unknown. */
    [[nodiscard]] bool matches(Response const& read) const;
    /** The node that was read is this one, and still bears the owner. */
    [[nodiscard]] bool still_owned(Response const& read) const;
};
using OwnedNodePtr = std::shared_ptr<OwnedNode>;

/** A node, and its generation as it was before: while the generation is unchanged, no client has claimed the key
 * since. */
struct NodeSnapshot {
    /// of the write that it was read after, if one was asked for
    Response write{};
    Response generation{};
    Response node{};

    /** Why it says nothing about the node; null: it does. */
    [[nodiscard]] Response const* failure() const;
    /** What a change is to be conditioned on; unset: there is no generation, or its version cannot be a condition. */
    [[nodiscard]] std::optional<std::int32_t> generation_version() const;
};
using SnapshotHandler = OneShot<void(NodeSnapshot const&)>;

/** Reads a node and its generation. @param after_write  behind a write on the connection of now */
void read_node(
    SessionPtr const& session, std::string const& path, std::string const& generation, bool after_write,
    SnapshotHandler handler);

/** All nodes of this process, by owner. Nodes live as long as their session, and that lives as long as the process
 *  talks to a server; so the registry removes a node that was not renewed for its ttl. */
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
    /** The node is gone, or belongs to another client. */
    void remove(OwnedNode& node);
    /** What a node must be for its removal. */
    struct Condition {
        /// unset: whichever it is
        std::optional<std::int32_t> generation_version;
        std::int32_t version = 0;
    };
    /** Deletes its node, and notes that it is gone.
     *
     * The node of whoever takes the key next has the same version, and a condition without a generation cannot tell it
     * from this one. So there is one such request for a node at a time: a removal that comes while one is under way
     * rests on an old read, and is called back by `again` to begin anew. */
    void delete_node(
        OwnedNodePtr const& node, Condition const& condition, ResponseHandler handler, std::function<void()> again);
    /** Sets the new deadline after a grant or renewal. */
    void extend(OwnedNode& node, Instant deadline);
    /** All nodes of the session are gone. */
    void session_expired(std::int64_t session_id);

    /** The entry of this very node; null if this process does not have it. */
    [[nodiscard]] OwnedNodePtr holder_of(std::string const& owner, std::string const& path, std::int64_t czxid) const;
    /** The node that a claim stands for. Null if this process has none, which proves that the claim is lost: the nodes
     * of a session that is over are gone, and another session's node cannot be this one. */
    [[nodiscard]] OwnedNodePtr find(Claim const& claim) const;
    /** All nodes of the owner in the range. */
    [[nodiscard]] std::vector<OwnedNodePtr> find_all(std::string const& owner, KeyRange const& range) const;
    /** A claim of this process is creating the node right now, or reads whose it is. */
    [[nodiscard]] bool creating(std::string const& path) const { return creating_.contains(path); }
    /** A claim has begun to create it, and goes on until it knows whether it has it. */
    void begin_creating(OwnedNode& node);
    void end_creating(OwnedNode& node);
    /** Nodes that rest on the session. */
    [[nodiscard]] bool holds_any(std::int64_t session_id) const noexcept;

    void close() noexcept;

private:
    void arm(Instant when);
    void remove_lapsed();
    /** A claim that is under way may yet be granted its node. */
    [[nodiscard]] bool is_claimed(OwnedNode const& node) const;
    void remove_if_lapsed(OwnedNodePtr const& node);

    std::shared_ptr<Runtime> runtime_;
    std::unordered_multimap<std::string, OwnedNodePtr> by_owner_;
    std::unordered_map<std::string, int> creating_;
    /// removals that wait for the end of a deletion, by path; the request for the deletion owns the list
    std::unordered_map<std::string, std::weak_ptr<std::vector<std::function<void()>>>> deleting_;
    Timer timer_{*runtime_};
    Instant armed_for_ = Instant::max();
    bool closed_ = false;
};

} // namespace tenure::zookeeper
